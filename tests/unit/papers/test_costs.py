"""Costs of units: the shipped table, and this machine's factor."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedradio.papers import costs
from fedradio.papers.plan import group, plan_reproduction
from fedradio.papers.published import items
from fedradio.papers.scales import SCALES
from fedradio.runs.speed import note_units


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path))


def test_the_factor_by_hand() -> None:
    shipped = {"a": 10.0, "b": 10.0, "c": 5.0, "tiny": 0.1}
    assert costs.machine_factor(shipped, {"a": 30.0, "b": 12.0, "c": 5.0, "tiny": 9.0, "own": 7.0}) == 1.2
    assert costs.machine_factor(shipped, {"tiny": 9.0, "own": 7.0}) == 1.0


def test_what_was_measured_here_comes_before_what_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds where two ship: a factor of 1.5 for the rest."""
    monkeypatch.setattr(costs, "shipped_costs", lambda: {"a": 2.0, "b": 10.0})
    assert costs.expected_costs() == {"a": 2.0, "b": 10.0}
    note_units({"a": 3.0, "own": 7.0})
    assert costs.expected_costs() == {"a": 3.0, "b": 15.0, "own": 7.0}


def test_what_ships_without_having_been_measured_says_nothing_about_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine seconds where two were only estimated count for that unit alone."""
    monkeypatch.setattr(costs, "shipped_costs", lambda: {"a": 2.0, "b": 10.0, "c": 4.0})
    monkeypatch.setattr(costs, "estimated_there", lambda: frozenset({"a"}))
    note_units({"a": 9.0})
    assert costs.expected_costs() == {"a": 9.0, "b": 10.0, "c": 4.0}
    note_units({"c": 5.0})
    assert costs.expected_costs() == {"a": 9.0, "b": 12.5, "c": 5.0}


def test_everything_that_can_be_made_has_a_cost() -> None:
    units = [unit for scale in SCALES for item in items() for unit in plan_reproduction(item, scale, 1).units]
    assert {group(unit.work) for unit in units} == costs.shipped_costs().keys()
    assert all(cpu_s > 0 for cpu_s in costs.shipped_costs().values())
    assert costs.estimated_there() < costs.shipped_costs().keys()
