"""A quantity read from runs that were written by hand, added up and shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.past import two_rounds, written
from support.records import evaluation, exchange, round_

from fedradio.core.contracts import Record
from fedradio.results.quantities import QUANTITIES
from fedradio.results.quantity import Better, Quantity, Total
from fedradio.results.run import Run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


@pytest.fixture
def small(tmp_path: Path, tiny: Make) -> Run:
    """Two rounds of 3.5 J, 10 s and 50 bit each, both clients in the first, one in the second; no summary."""
    return two_rounds(tmp_path / "small", tiny("topology.clients=2"))


def told(run: Run, **summary: Any) -> Run:
    return Run(run.folder, run.spec, {"status": "complete", **summary})


@pytest.mark.parametrize(
    ("total", "better", "number"),
    [("sum", None, 0.75), ("mean", None, 0.375), ("last", "more", 0.25), ("best", "less", 0.25), ("best", "more", 0.5)],
)
def test_how_amounts_become_the_number_of_a_run(small: Run, total: Total, better: Better | None, number: float) -> None:
    """Losses of 0.5 and 0.25."""
    loss = Quantity("x", "x", better=better, per="evaluation", amount=lambda r: r.metrics["loss"], total=total)
    assert loss.amounts(small) == [0.5, 0.25]
    assert loss.of(small) == number


def test_sums_and_means_are_undefined_where_one_amount_is(tmp_path: Path, tiny: Make) -> None:
    records: list[Record] = [round_(0, energy_j=1.0, train_loss=1.0), round_(1, train_loss=None)]
    run = written(tmp_path / "run", tiny(), records)
    assert QUANTITIES["joules"].of(run) is None
    assert QUANTITIES["joules"].totals(run) is None
    assert QUANTITIES["train_loss"].of(run) is None
    empty = written(tmp_path / "empty", tiny(), [])
    assert [each.of(empty) for each in QUANTITIES.values() if each.name != "rounds"] == [None] * (len(QUANTITIES) - 1)
    assert QUANTITIES["rounds"].of(empty) == 0


def test_a_summary_goes_before_records_also_where_it_says_undefined(small: Run) -> None:
    joules = QUANTITIES["joules"]
    assert joules.of(small) == joules.of(told(small)) == 7.0
    assert joules.of(told(small, energy_j=8.0)) == 8.0
    assert joules.of(told(small, energy_j=None)) is None
    assert joules.totals(told(small, energy_j=None)) is None
    assert QUANTITIES["loss"].of(told(small, loss=None, metrics={"loss": 0.5})) is None
    assert QUANTITIES["bayes"].of(told(small, metrics={"bayes": 0.5})) == 0.5


def test_exchanges_that_do_not_count_are_left_out(tmp_path: Path, tiny: Make) -> None:
    """Two exchanges in round 0, one in round 1, one of a round that was not finished; hop 1 sends no symbols."""
    records: list[Record] = [
        exchange(0, uses=100.0),
        exchange(0, 1, ids=[0]),
        exchange(0, uses=50.0, ids=[0], arrived=[False]),
        round_(0),
        exchange(1, uses=25.0),
        round_(1),
        exchange(2, uses=7.0),
    ]
    run = written(tmp_path / "run", tiny("topology.clients=2"), records, senders=(2, 1), receivers=(1, 1))
    uses = QUANTITIES["uses"]
    assert uses.amounts(run) == [100, 50, 25, 7]
    totals = uses.totals(run)
    assert totals is not None
    assert totals.tolist() == [150, 175]
    assert (QUANTITIES["clients"].of(run), QUANTITIES["arrived"].of(run)) == (7 / 4, 6 / 4)
    assert QUANTITIES["eligible"].of(run) is None


def test_running_sums(small: Run) -> None:
    for name, totals in {"rounds": [1, 2], "seconds": [10, 20], "joules": [3.5, 7], "bits": [50, 100]}.items():
        found = QUANTITIES[name].totals(small)
        assert found is not None
        assert found.tolist() == totals
    assert QUANTITIES["uses"].totals(small) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.5, "50.00 %"),
        ("seconds", 75.0, "1 min 15 s"),
        ("joules", 0.02, "20 mJ"),
        ("bits", 3e6, "3 Mbit"),
        ("uses", 4875.0, "4,875"),
        ("clients", 4.625, "4.62"),
        ("loss", 1.23456, "1.235"),
        ("bits", None, "-"),
        ("loss", None, "-"),
    ],
)
def test_values_have_their_units(name: str, value: float | None, text: str) -> None:
    assert QUANTITIES[name].text(value) == text


def test_what_nobody_has_is_listed_only_if_a_part_could_define_it() -> None:
    assert QUANTITIES["joules"].listed([None, None])
    assert not QUANTITIES["uses"].listed([None, None])
    assert QUANTITIES["uses"].listed([None, 0.0])


def test_names(tmp_path: Path, tiny: Make) -> None:
    assert (QUANTITIES["seconds"].column, Quantity("x", "x").column) == ("time_s", "x")
    assert QUANTITIES["bayes"].heading == "Bayes ceiling, expected"
    assert QUANTITIES["seconds"].heading == "Simulated time"
    assert (QUANTITIES["accuracy"].scale, QUANTITIES["loss"].scale) == (100, 1)
    run = written(tmp_path / "run", tiny(), [evaluation(1, accuracy=0.5)])
    assert Quantity("x", "x").of(run) is None
    assert Quantity("x", "x", read=lambda run: run.spec.rounds).of(run) == 2
