"""Conditions and bounds as plain data."""

from typing import Literal

import pytest

from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, exceeded


@pytest.mark.parametrize(
    ("relation", "below", "equal", "above"),
    [("<", True, False, False), ("<=", True, True, False), (">", False, False, True), (">=", False, True, True)],
)
def test_relations(relation: Literal["<", "<=", ">", ">="], below: bool, equal: bool, above: bool) -> None:
    assert [Condition("any", value, 1.0, relation).holds for value in (0.5, 1.0, 1.5)] == [below, equal, above]


def test_terms_add_up_and_a_column_that_was_not_measured_says_nothing() -> None:
    column = BoundColumn("replayed", 2, {"a": 1.0, "b": 0.5}, 1.5)
    assert (column.total, column.holds) == (1.5, True)
    assert BoundColumn("replayed", 2, {"a": 1.0}, 1.5).holds is False
    assert BoundColumn("whole run", 2, {"a": 1.0}).holds is None


def test_only_a_bound_that_claims_something_is_exceeded() -> None:
    low = [BoundColumn("replayed", 1, {"a": 1.0}, 2.0)]
    assert exceeded([BoundTable("(1)", low, applies=True)]) == ["measured 2 exceeds the bound 1 ((1); replayed)"]
    assert exceeded([BoundTable("(1)", low, applies=False)]) == []
    assert exceeded([BoundTable("(1)", low, applies=True, exact=True)]) == []


def test_failed_conditions() -> None:
    conditions = [Condition("holds", 1.0, 2.0), Condition("fails", 3.0, 2.0)]
    assert [c.name for c in Assessment("any", "t", "m", [], [], conditions).failed] == ["fails"]
