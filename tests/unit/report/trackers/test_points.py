"""The numbers that trackers get are those on record."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.past import two_rounds

from fedradio.report.trackers.points import ROUNDS, began_s, points, settings
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_steps_and_sums_by_hand(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    past = two_rounds(tmp_path / "small", tiny("topology.clients=2", "rounds=3"))
    found = list(points(past))
    rounds = [point for point in found if ROUNDS in point.values]
    assert [point.step for point in rounds] == [1, 2]
    assert [point.values[ROUNDS] for point in rounds] == [1, 2]
    first, second = (record.energy_j or 0 for record in past.rounds)
    assert [point.values["spent/joules"] for point in rounds] == pytest.approx([first, first + second])


def test_all_that_is_on_record(made: Path) -> None:
    run = open_run(made)
    found = list(points(run))
    evaluations = {point.step: point.values for point in found if "evaluation/accuracy" in point.values}
    assert {step: values["evaluation/accuracy"] for step, values in evaluations.items()} == {
        record.round: record.metrics["accuracy"] for record in run.evaluations
    }
    assert list(evaluations) == [2, 3]
    last = next(point.values for point in reversed(found) if ROUNDS in point.values)
    for axis in ("seconds", "joules", "bits"):
        totals = run.totals(axis)
        assert totals is not None
        assert last[f"spent/{axis}"] == pytest.approx(totals[-1])
    assert last["round/clients"] == 6
    assert last["round/train_loss"] == run.rounds[-1].train_loss


def test_time_is_that_of_the_machine(made: Path) -> None:
    run = open_run(made)
    found = list(points(run))
    assert found[-1].at_s == pytest.approx(began_s(run) + sum(record.wall_s or 0 for record in run.rounds))
    assert began_s(run) > 1.7e9


def test_what_was_told_is_not_told_again(made: Path) -> None:
    run = open_run(made)
    assert [point for point in points(run) if point.step > 2] == list(points(run, after=2))


def test_undefined_sums_are_left_out(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "run")  # no part says what things cost
    assert not any("spent/joules" in point.values for point in points(open_run(tmp_path / "run")))


def test_settings_have_dotted_keys(made: Path) -> None:
    found = settings(open_run(made))
    assert found["rule.lr"] == 0.1
    assert found["hops.0.period"] == 2
