"""The running summary: counts, means, the best evaluation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.records import evaluation, exchange, round_

from fedradio.core.contracts import Note
from fedradio.runs.summary import RunningSummary

ROUND = round_(tx_j=[0.0], bits=[5.0, None])
EXCHANGE = exchange(ids=[0, 1], arrived=[True, False], why=["none", "deadline"], bits=5.0)


def test_means_over_edge_rounds_by_hand() -> None:
    """Two edge rounds with 2 and 3 clients of which 1 and 3 arrive; the hop above does not count."""
    found = RunningSummary()
    assert found.mean("clients") is None
    everyone = exchange(ids=[0, 1, 2])
    found.count(ROUND, [EXCHANGE, everyone, replace(everyone, hop=1)])
    assert (found.mean("clients"), found.mean("arrived"), found.mean("eligible")) == (2.5, 2.0, None)
    found.count(ROUND, [replace(EXCHANGE, notes={"eligible": Note("receiver", [2.0, 3.0])})])
    assert found.mean("eligible") == pytest.approx(5 / 3)


def test_cpu_seconds_add_up_unless_a_part_of_the_run_did_not_count_them() -> None:
    found, older = RunningSummary(), RunningSummary()
    found.spend(1.5, first=True)
    found.spend(2.0, first=False)
    older.spend(2.0, first=False)
    assert (found.cpu_s, older.cpu_s) == (3.5, None)


def test_bits_are_undefined_as_soon_as_a_round_has_none() -> None:
    found = RunningSummary()
    found.count(ROUND, [])
    found.count(ROUND, [])
    assert found.hop_bits == [10.0, None]


def test_channel_uses_are_those_of_exchanges_that_have_some() -> None:
    found = RunningSummary()
    found.count(ROUND, [EXCHANGE])
    assert found.uses is None
    found.count(ROUND, [replace(EXCHANGE, uses=3.0), EXCHANGE, replace(EXCHANGE, uses=4.0, hop=1)])
    assert found.uses == 7.0


def test_the_lowest_frequency_and_power_of_those_who_took_part() -> None:
    """A client without a step has no frequency; senders of the hop above have powers, but do not train."""
    found = RunningSummary()
    found.count(ROUND, [EXCHANGE])
    assert (found.least_cpu_hz, found.least_power_w) == (None, None)
    first = replace(EXCHANGE, steps=[2, 0], cpu_hz=[3e6, 1e6], power_w=[1e-3, 1e-8])
    found.count(ROUND, [first, replace(first, cpu_hz=[2e6, 1.0], power_w=[0.5, 0.5]), replace(first, power_w=None)])
    found.count(ROUND, [replace(first, hop=1, cpu_hz=[1.0, 1.0], power_w=[1e-9, 1e-9])])
    assert (found.least_cpu_hz, found.least_power_w) == (2e6, 1e-9)


def test_the_best_evaluation_stays_and_the_first_of_equals_is_it() -> None:
    found = RunningSummary()
    for done, accuracy in enumerate((0.4, 0.7, 0.7, 0.5), start=1):
        found.see(evaluation(done, accuracy=accuracy, loss=float(done)))
    assert (found.best_round, found.best) == (2, {"accuracy": 0.7, "loss": 2.0})
    assert found.last == {"accuracy": 0.5, "loss": 4.0}
