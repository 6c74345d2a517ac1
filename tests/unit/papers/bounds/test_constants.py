"""Constants with their sources."""

from fedradio.papers.bounds.constants import Estimate, largest, settle


def test_what_is_given_comes_before_estimates() -> None:
    estimates = {"a": Estimate(1.0, "measured"), "b": largest([2.0, 3.0], 2)}
    values, rows = settle({"a": "alpha", "b": "beta"}, estimates, {"a": 5.0})
    assert values == {"a": 5.0, "b": 3.0}
    assert [(row.symbol, row.source) for row in rows] == [
        ("alpha", "given"),
        ("beta", "estimated: largest of 2 replayed round(s)"),
    ]


def test_an_estimate_is_not_needed_where_a_constant_is_given() -> None:
    values, _ = settle({"a": "alpha"}, {}, {"a": 5.0})
    assert values == {"a": 5.0}
    assert largest([], 0).value == 0.0
