"""Claims of a paper in its data files: their form, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.items import Item, parse_item

TEST = {"column": "accuracy", "row": "one", "than": "two", "above": 0}
CLAIM = {"id": "better", "says": "One learns better than two.", "source": "section V", "tests": [TEST]}


def item(*claims: dict[str, Any]) -> Item:
    source = {"spec": "demo"}
    plain = {
        "title": "Accuracy",
        "source": "a paper",
        "show": "table",
        "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy"}},
        "rows": [{"label": label, "quick": source, "paper": source} for label in ("one", "two")],
        "scales": {scale: {"seeds": 1, "about": "all"} for scale in ("quick", "paper")},
        "claims": claims,
    }
    return parse_item(json.dumps(plain), "whfl", "fig9")


def claim(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (CLAIM | changes).items() if value is not None}


def with_test(**changes: Any) -> dict[str, Any]:
    return claim(tests=[{key: value for key, value in (TEST | changes).items() if value is not None}])


def test_a_claim_is_read_with_its_defaults() -> None:
    [found] = item(CLAIM).claims
    assert (found.id, found.scale, found.not_testable, found.note) == ("better", "any", None, None)
    assert found.tests is not None
    [test] = found.tests
    assert (test.rows, test.other, test.above, test.exact) == (("one", "two"), "two", 0.0, False)
    [alone] = item(with_test(than=None)).claims[0].tests or ()
    assert (alone.rows, alone.other) == (("one",), None)


def test_a_claim_may_give_the_reason_why_it_has_no_tests() -> None:
    [found] = item(claim(tests=None, not_testable="its data are not public")).claims
    assert (found.tests, found.not_testable) == (None, "its data are not public")


@pytest.mark.parametrize(
    ("wrong", "path", "reason"),
    [
        (claim(says=""), "claims.0.says", "at least 1 character"),
        (claim(source=None), "claims.0.source", "required"),
        (claim(id="Not this"), "claims.0.id", "pattern"),
        (claim(scale="quick"), "claims.0.scale", "'any' or 'paper'"),
        (claim(verdict="holds"), "claims.0.verdict", "unknown key"),
        (claim(tests=[]), "claims.0.tests", "at least 1"),
        (claim(tests=None), "claims.0", "either tests or the reason"),
        (claim(not_testable="because"), "claims.0", "either tests or the reason"),
        (with_test(over="two"), "claims.0.tests.0", "not both"),
        (with_test(below=1), "claims.0.tests.0", "exactly one of above, below, between"),
        (with_test(above=None), "claims.0.tests.0", "exactly one of above, below, between"),
        (with_test(above=None, between=[2, 1]), "claims.0.tests.0", "the lower end comes first"),
        (with_test(above=None, between=[2]), "claims.0.tests.0.between", "required"),
        (with_test(than="one"), "claims.0.tests.0", "not with itself"),
        (with_test(row="three"), "", "claim 'better': 'three' is not a row"),
        (with_test(than="three"), "", "claim 'better': 'three' is not a row"),
        (with_test(column="joules"), "", "claim 'better': 'joules' is not a column"),
    ],
)
def test_a_wrong_claim_is_refused_with_path_and_reason(wrong: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(SpecError) as refusal:
        item(wrong)
    wanted = f"published/whfl/fig9.yaml: {path}" if path else "published/whfl/fig9.yaml"
    assert any(problem.path.startswith(wanted) and reason in problem.reason for problem in refusal.value.problems), (
        refusal.value
    )


def test_names_of_claims_are_unique_in_an_item() -> None:
    with pytest.raises(SpecError, match="two claims are named 'better'"):
        item(CLAIM, CLAIM)
