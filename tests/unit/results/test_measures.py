"""Measures on a run whose records are written by hand."""

from collections.abc import Callable
from pathlib import Path
from statistics import pstdev

import numpy as np
import pytest
from support.past import written
from support.records import evaluation, exchange, round_

from fedradio.core.contracts import Note, Record
from fedradio.core.errors import SpecError
from fedradio.results.measures import MEASURES, crossing, measure, paired_measure
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

ACCURACY = {2: 0.4, 4: 0.8, 6: 0.7, 8: 0.78, 10: 0.79}
LOSS = {2: 2.0, 4: 1.5, 6: 1.6, 8: 1.1, 10: 1.2}


@pytest.fixture
def past(tmp_path: Path, tiny: Callable[..., Spec]) -> Run:
    """Ten rounds of 3 J, 20 s and 5 + 1 bit each, evaluated every second round."""
    records: list[Record] = []
    for done in range(1, 11):
        power = Note("active", [1.0, 3.0]) if done <= 5 else Note("active", [8.0])
        records.append(exchange(done - 1, ids=[0, 1] if done <= 5 else [1], notes={"tx_power": power}))
        records.append(exchange(done - 1, hop=1, ids=[0], notes={"tx_power": Note("active", [99.0])}))
        records.append(round_(done - 1, time_s=20.0, energy_j=3.0, bits=[5.0, 1.0]))
        if done in ACCURACY:
            top = {"top_2_accuracy": ACCURACY[done] + 0.1, "accuracy_spread": 0.05, "bayes": 0.9}
            records.append(evaluation(done, accuracy=ACCURACY[done], loss=LOSS[done], **top))
    return written(tmp_path / "past", tiny(), records, senders=[2, 1], receivers=[1, 1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", 0.79),
        ("accuracy@4", 0.8),
        ("accuracy@3", None),  # not evaluated
        ("accuracy@12", None),  # the run is shorter
        ("accuracy_percent", 79.0),
        ("loss", 1.2),
        ("loss@8", 1.1),
        ("spread", 0.05),
        ("bayes", 0.9),
        ("global_accuracy", None),  # there is one model only
        ("top_popular", None),
        ("best_accuracy", 0.8),
        ("best_round", 4.0),
        ("loss_at_best", 1.5),
        ("of_bayes", 0.8 / 0.9),
        ("top@1", 0.79),
        ("top@2", 0.89),
        ("top@3", None),
        ("mean_percent@6", (70.0 + 78.0 + 79.0) / 3),
        ("mean_percent", 69.4),
        ("mean_percent@11", None),
        ("wobble@6", 32.5**0.5),  # changes of 8 and 1 point
        ("wobble@10", None),  # one evaluation has no next
        ("rounds_to@0.75", 4.0),
        ("rounds_to@0.85", None),
        ("loss_settled@0.9", 8.0),  # 1.1/.9 = 1.22: 1.6 in round 6 is the last above
        ("loss_settled@0.5", 2.0),
        ("loss_settled@0.95", None),  # 1.2 at the end is above 1.16
        ("settled@0.95", 8.0),  # .76: .7 in round 6 is the last below
        ("settled@0.98", None),  # .784: .78 in round 8 is the last below, one evaluation is left
        ("settled@0.5", 2.0),
        ("late_gain", 0.79 - 0.8),  # round 4 is the last evaluated one of the first five
        ("fluctuation", pstdev([0.7, 0.78, 0.79])),
        ("top_popular@8", None),  # images
        ("energy_j", 30.0),
        ("energy_j@4", 12.0),
        ("energy_j@11", None),
        ("time_s", 200.0),
        ("bits@1", 6.0),
        ("tx_power", 3.0),  # (5 * (1 + 3) + 5 * (0 + 8)) / 20, hop 0 only
    ],
)
def test_by_hand(past: Run, name: str, value: float | None) -> None:
    assert measure(name)(past) == (None if value is None else pytest.approx(value))


def test_nothing_is_known_of_a_run_without_records(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    past = written(tmp_path / "none", tiny(), [])
    examples = {"round": "", "guesses": "@2", "level": "@0.5", None: ""}
    assert {name: measure(name + examples[kind.option])(past) for name, kind in MEASURES.items()} == dict.fromkeys(
        MEASURES
    )


def test_undefined_joules_and_analogue_power(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    past = written(tmp_path / "plain", tiny(), [exchange(), round_()])
    assert [measure(name)(past) for name in ("energy_j", "time_s", "bits", "tx_power")] == [None] * 4


def test_a_real_run_agrees_with_its_summary(tmp_path: Path, cells: Callable[..., Spec]) -> None:
    summary = run(cells("rounds=3"), tmp_path / "run")
    past = open_run(tmp_path / "run")
    for name in ("accuracy", "loss", "best_accuracy", "best_round", "loss_at_best"):
        assert measure(name)(past) == pytest.approx(getattr(summary, name))
    assert measure("accuracy@3")(past) == summary.accuracy


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acuracy", "accuracy"),
        ("best_accuracy@5", "takes no option"),
        ("top", "needs an option"),
        ("rounds_to", "needs an option"),
        ("accuracy@", "not a round"),
        ("accuracy@0", "not a round"),
        ("accuracy@4.5", "not a round"),
        ("top@x", "not a number of guesses"),
        ("rounds_to@95", "not a level"),
        ("settled@nan", "not a level"),
    ],
)
def test_wrong_names_are_refused(name: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        measure(name)


def curve(values: list[float], every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    return every * np.arange(1.0, len(values) + 1), np.array(values)


@pytest.mark.parametrize(
    ("one", "other", "share", "round_"),
    [
        ([0.1, 0.4, 0.6, 0.5], [0.3, 0.3, 0.5, 0.5], 1.0, 2.0),  # equal at the end: it keeps up
        ([0.1, 0.4, 0.4, 0.6], [0.3, 0.3, 0.5, 0.5], 1.0, 4.0),  # ahead for a moment does not count
        ([0.1, 0.4, 0.4, 0.6], [0.3, 0.3, 0.5, 0.5], 0.75, 2.0),  # .4 is more than three quarters of .5
        ([0.1, 0.2], [0.3, 0.3], 1.0, None),
        ([0.5, 0.6], [0.3, 0.3], 1.0, 1.0),  # ahead from the start
    ],
)
def test_crossing_is_the_round_from_which_on_a_curve_keeps_up(
    one: list[float], other: list[float], share: float, round_: float | None
) -> None:
    assert crossing(curve(one), curve(other), share) == round_


def test_curves_are_compared_where_both_were_evaluated() -> None:
    assert crossing(curve([0.1, 0.2, 0.3, 0.4]), curve([0.3, 0.3], every=2)) == 4.0
    assert crossing(curve([0.1]), curve([0.3], every=2)) is None


def test_a_run_crosses_another(past: Run, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    records: list[Record] = []
    for done in range(1, 11):
        records.append(round_(done - 1, time_s=20.0, energy_j=3.0, bits=[5.0]))
        if done % 2 == 0:
            records.append(evaluation(done, accuracy=0.75, loss=1.0))
    level = written(tmp_path / "level", tiny(), records, senders=[2], receivers=[1])
    assert paired_measure("crossing")(past, level) == 8.0  # .7 in round 6 is the last below .75
    assert paired_measure("crossing@0.9")(past, level) == 4.0  # .4 in round 2 is the last below .675
    assert paired_measure("crossing")(level, past) is None
    assert paired_measure("crossing@0.9")(level, past) == 2.0


@pytest.mark.parametrize("name", ["accuracy", "crosing", "crossing@", "crossing@1.5", "crossing@often"])
def test_wrong_measures_of_two_runs_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match="measure"):
        paired_measure(name)
