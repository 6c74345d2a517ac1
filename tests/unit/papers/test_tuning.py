"""Equal tuning: rates chosen on one seed and judged on others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import Entry
from fedradio.papers.items import Item, parse_item
from fedradio.papers.plan import plan_reproduction, reproduce_command
from fedradio.papers.published import PAPERS, matching
from fedradio.papers.tuning import remaining, tuned_entries

SOURCE = {"quick": {"spec": "demo"}, "paper": {"spec": "demo"}}
GRID = ["a low", "a one", "a high"]

NUMBERS = {
    "a low": {1: 0.4, 2: 0.5, 11: 0.5},
    "a one": {1: 0.6, 2: 0.7, 11: 0.7},
    "a high": {1: 0.9, 2: 0.9, 11: 0.6},
    "b low": {1: 0.5, 2: 0.6, 11: 0.65},
    "b one": {1: 0.3, 2: 0.4, 11: 0.3},
}


def item(**changes: Any) -> Item:
    rows: list[dict[str, Any]] = [{"label": label} for label in NUMBERS]
    rows += [
        {"label": "a, published", "best_of": ["a one"]},
        {"label": "a, tuned", "best_of": GRID},
        {"label": "b, published", "best_of": ["b one"], "against": {"behind": "a, published"}},
        {
            "label": "b, tuned",
            "best_of": ["b low", "b one"],
            "against": {"behind": "a, tuned"},
            "untuned": "b, published",
        },
    ]
    plain = {
        "title": "Tuned",
        "source": "ours",
        "show": "table",
        "tuning": {"seed": 11, "by": "accuracy", "lead": "behind"},
        "columns": {
            "accuracy": {"title": "accuracy", "measure": "accuracy"},
            "behind": {"title": "behind", "measure": "difference", "of": "accuracy"},
        },
        "rows": [row | SOURCE for row in rows],
        "scales": {"quick": {"seeds": 2, "about": "less"}, "paper": {"seeds": 5, "about": "all"}},
    }
    return parse_item(json.dumps(plain | changes), "whfl", "tuned")


def entries(made: Item, lost: Mapping[str, Mapping[int, Absence]] | None = None) -> dict[str, dict[str, Entry]]:
    """The entries of all rows as runs give them; rows that choose have those of no candidate."""
    gone = lost or {}
    found = {}
    for row in made.rows:
        values = {s: v for s, v in NUMBERS.get(row.label, {}).items() if s not in gone.get(row.label, {})}
        column = made.columns
        found[row.label] = {
            "accuracy": Entry(column["accuracy"], None, values, gone.get(row.label, {})),
            "behind": Entry(column["behind"], None, {}, {}),
        }
    return found


def test_the_best_candidate_of_the_tuning_seed_is_judged_on_the_others() -> None:
    """.7 on seed 11 is the best of .5, .7 and .6, though .9 would be the best on seeds 1 and 2."""
    made = item()
    found = tuned_entries(made, entries(made))
    assert found["a, tuned"]["accuracy"].values == {1: 0.6, 2: 0.7}
    assert found["a, tuned"]["accuracy"].note == "chosen on seed 11: a one"
    assert found["b, tuned"]["accuracy"].values == {1: 0.5, 2: 0.6}
    assert found["a, published"]["accuracy"].note is None
    assert found["a one"]["accuracy"].values == NUMBERS["a one"]
    assert found["b, tuned"]["behind"].values == pytest.approx({1: -0.1, 2: -0.1})
    assert found["b, published"]["behind"].values == pytest.approx({1: -0.3, 2: -0.3})


def test_what_remains_of_a_lead() -> None:
    """.3 at the published rates and .1 tuned: a third."""
    made = item()
    [left] = remaining(made, tuned_entries(made, entries(made)))
    assert (left.winner, left.other) == ("a, tuned", "b, tuned")
    assert (left.published, left.tuned) == (pytest.approx(0.3), pytest.approx(0.1))
    assert left.share == pytest.approx(1 / 3)


def test_diverged_candidates_are_not_chosen_and_missing_ones_leave_it_open() -> None:
    made = item()
    wild = tuned_entries(made, entries(made, {"a one": {11: Absence(Reason.DIVERGED)}}))
    assert wild["a, tuned"]["accuracy"].values == {1: 0.9, 2: 0.9}
    waiting = tuned_entries(made, entries(made, {"a one": {11: Absence(Reason.NOT_RUN)}}))
    assert waiting["a, tuned"]["accuracy"].values == {}
    assert {each.reason for each in waiting["a, tuned"]["accuracy"].lost.values()} == {Reason.NOT_RUN}
    assert remaining(made, waiting) == []


def test_the_tuning_seed_is_planned_with_the_others() -> None:
    made = item()
    plan = plan_reproduction(made, "paper")
    assert plan.seeds == (1, 2, 3, 4, 5, 11)
    assert not plan.changed_seeds
    assert reproduce_command(plan) == "fedradio reproduce whfl tuned --scale paper"
    fewer = plan_reproduction(made, "paper", 2)
    assert fewer.seeds == (1, 2, 11)
    assert reproduce_command(fewer).endswith("--seeds 1,2,11")


def test_rows_that_choose_need_candidates_and_tuning() -> None:
    for wrong in ({"tuning": None}, {"tuning": {"seed": 11, "by": "loss", "lead": "behind"}}):
        with pytest.raises(SpecError, match="tuning"):
            item(**wrong)
    with pytest.raises(SpecError, match="'c' is not a row"):
        item(rows=[{"label": "a", "best_of": ["c"]} | SOURCE])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_method_of_the_papers_has_the_same_grid(paper: str) -> None:
    [made] = matching(paper, "tuned")
    by_label = {row.label: row for row in made.rows}
    grids = [row for row in made.rows if len(row.best_of) > 1]
    assert len(grids) >= 2
    for scale in ("quick", "paper"):
        for row in grids:
            low, one, high = (by_label[label].source(scale).load(1).plain["rule"]["lr"] for label in row.best_of)
            assert low == pytest.approx(one / 3, rel=3e-3)
            assert high == pytest.approx(3 * one, rel=3e-3)
            assert row.source(scale) == by_label[row.best_of[1]].source(scale)
