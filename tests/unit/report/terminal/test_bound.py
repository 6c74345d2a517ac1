"""A paper's theory on a terminal."""

import math

import pytest
from support.terminal import shown

from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, Constant, Listing
from fedradio.papers.bounds.fedcpsl import MEANING as FEDCPSL
from fedradio.papers.bounds.osafl import MEANING as OSAFL
from fedradio.papers.bounds.rawhfl import MEANING as RAWHFL
from fedradio.papers.bounds.whfl import MEANING as WHFL
from fedradio.report.terminal.bound import assessment_view, number


def assessment(meaning: str = "What it means.", measured: float = 2.0, applies: bool = True) -> Assessment:
    columns = [
        BoundColumn("replayed", 1, {"loss gap": 1.0, "noise": 0.5}, measured),
        BoundColumn("whole run", 7, {"loss gap": 0.25, "noise": 0.5}),
    ]
    return Assessment(
        paper="any",
        title="Any, Theorem 1",
        meaning=meaning,
        bounds=[BoundTable("(1): mean of |grad f|^2", columns, applies)],
        constants=[Constant("smoothness", "beta", 14.27, "given")],
        conditions=[Condition("(2): eta < 1/beta", 0.2, 0.07, "<"), Condition("(3): A > 0", 0.1, 0.0, ">")],
        rates={"rate of the run": 0.2},
        listings=[Listing("scores", ["round", "score"], [[0, 0.5], [1, None]])],
        notes=["something is different"],
    )


def test_terms_conditions_and_constants_stand_in_tables() -> None:
    text = shown(assessment_view(assessment(applies=False)), width=100)
    rows = [line.split() for line in text.splitlines()]
    for row in (
        ["term", "replayed", "(1", "round)", "whole", "run", "(7", "rounds)"],
        ["loss", "gap", "1", "0.25"],
        ["bound", "1.5", "0.75"],
        ["measured", "2", "-"],
        ["bound", "holds", "no", "claim", "no", "claim"],
        ["(2):", "eta", "<", "1/beta", "0.2", "0.07", "NO"],
        ["(3):", "A", ">", "0", "0.1", "0", "yes"],
        ["smoothness", "beta", "14.27", "given"],
        ["rate", "of", "the", "run", "0.2"],
        ["1", "-"],
        ["note:", "something", "is", "different"],
    ):
        assert row in rows, row


def test_a_bound_below_what_was_measured_says_no() -> None:
    for measured, verdict in ((1.6, "NO"), (1.4, "yes")):
        lines = shown(assessment_view(assessment(measured=measured)), width=100).splitlines()
        assert ["bound", "holds", verdict, "-"] in [line.split() for line in lines]


def test_an_exact_expectation_is_no_bound() -> None:
    found = assessment()
    exact = BoundTable("error of the air", found.bounds[0].columns[:1], applies=True, exact=True)
    text = shown(assessment_view(Assessment("any", "t", "m", [exact], [], [])), width=100)
    assert "expected" in text
    assert "bound" not in text


@pytest.mark.parametrize("meaning", [RAWHFL, OSAFL, WHFL, FEDCPSL])
def test_at_most_ten_lines_stand_before_the_first_table(meaning: str) -> None:
    lines = shown(assessment_view(assessment(meaning)), width=80).splitlines()
    assert next(place for place, line in enumerate(lines) if line.startswith("term")) <= 10


def test_numbers() -> None:
    assert [number(value) for value in (None, 1234567.0, math.inf, -0.25)] == ["-", "1.235e+06", "inf", "-0.25"]
