"""Shipped results: their form, the verdicts that follow from them, and whether they are up to date."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.claimed import claim, claim_test
from support.reproductions import made, row
from support.scripts import script

from fedradio.core.errors import StoreError
from fedradio.papers.collect import collect
from fedradio.papers.items import Item
from fedradio.papers.judge import judge
from fedradio.papers.make import load_specs, make_studies
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.published import PAPERS, matching, published
from fedradio.papers.shipped import (
    ShippedResult,
    outdated_parts,
    parse_shipped,
    restored,
    shipped_results,
)
from fedradio.spec.spec import Spec

RESULTS = sorted(shipped_results())
MOST_BYTES = 60_000
ALL_BYTES = 1_500_000
SAME = 1e-6
"""A study that is made again gives the shipped numbers within this share: other machines round differently."""

FROZEN = Path(__file__).parents[2] / "support" / "shipped_format_1"
FROZEN_FILES = ("curves.json", "table.json")
FROZEN_NAMES = ("rawhfl", "fig6b", "paper", (1,), True)

ABOVE = claim(claim_test(above=-1), id="above")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/publish.py", monkeypatch)


@pytest.fixture
def stored(tool: ModuleType, make: Callable[..., Item], tmp_path: Path) -> tuple[Item, ShippedResult]:
    item = make(claims=[ABOVE])
    plan = plan_reproduction(item, "quick", (1, 2), tmp_path / "out")
    made(plan)
    found = tool.shipped_result(plan)
    shutil.rmtree(tmp_path / "out")
    return item, found


def test_a_file_comes_back_as_it_was_written(tool: ModuleType, stored: tuple[Item, ShippedResult]) -> None:
    item, found = stored
    text = tool.shipped_json(found)
    assert parse_shipped(text, "a.json") == found
    assert json.loads(text)["rows"]["one"]["accuracy"]["values"].keys() == {"1", "2"}
    assert max(map(len, text.splitlines())) < 400
    back = restored(item, found)
    assert back.entries[0]["accuracy"].published == (0.5, 0.1)
    assert back.entries[0]["accuracy"].values == {int(s): v for s, v in found.rows["one"]["accuracy"].values.items()}
    assert [one.judgement for one in judge(back)] == [one.verdict for one in found.claims]


def test_why_a_result_is_superseded_stands_in_its_file_alone(
    tool: ModuleType, stored: tuple[Item, ShippedResult]
) -> None:
    marked = stored[1].model_copy(update={"superseded": "a sum was mended"})
    text = tool.shipped_json(marked)
    assert json.loads(text)["superseded"] == "a sum was mended"
    assert parse_shipped(text, "a.json") == marked
    assert "superseded" not in json.loads(tool.shipped_json(stored[1]))


WRONG: dict[str, Any] = {
    "format": 2,
    "seeds": [],
    "scale": "middle",
    "more": 1,
    "superseded": "",
    "rows": {"one": {"accuracy": {"values": {"a": 1}}}},
}


def test_another_form_is_refused_with_the_key(stored: tuple[Item, ShippedResult]) -> None:
    text = stored[1].model_dump_json(indent=1)
    for key, value in WRONG.items():
        with pytest.raises(StoreError, match=rf"a\.json: {key}"):
            parse_shipped(json.dumps(json.loads(text) | {key: value}), "a.json")
    with pytest.raises(StoreError, match="wall_s"):
        parse_shipped(re.sub(r'"wall_s": [\d.]+', '"wall_s": NaN', text), "a.json")


def test_a_changed_spec_is_named(stored: tuple[Item, ShippedResult], tiny: Callable[..., Spec], tmp_path: Path) -> None:
    item, found = stored
    assert outdated_parts(item, found) == []
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    assert outdated_parts(item, found) == [f"{tmp_path / 'one.yaml'}: its spec has changed"]


def test_another_row_or_claim_is_named(
    stored: tuple[Item, ShippedResult], make: Callable[..., Item], tmp_path: Path
) -> None:
    found = stored[1]
    fewer = make(rows=[row(tmp_path, "one")])
    assert outdated_parts(fewer, found) == [
        f"{tmp_path / 'two.yaml'} rule.lr=0.05: the item no longer has it",
        "claim above: the item no longer has it",
    ]
    more = make(
        rows=[row(tmp_path, "one"), row(tmp_path, "two", "rule.lr=0.05"), row(tmp_path, "two") | {"label": "3"}]
    )
    assert f"{tmp_path / 'two.yaml'}: not in the result" in outdated_parts(more, found)
    left = found.model_copy(update={"left": (f"{tmp_path / 'two.yaml'}",)})
    assert not any("not in the result" in problem for problem in outdated_parts(more, left))


def test_files_of_an_earlier_commit_are_read() -> None:
    """Two files as they were written when their form had number 1; they are never written anew."""
    curves, table = (parse_shipped((FROZEN / name).read_text(encoding="utf-8"), name) for name in FROZEN_FILES)
    assert (curves.paper, curves.item, curves.scale, curves.seeds, curves.whole) == FROZEN_NAMES
    assert curves.rows["RawHFL, Z=4"]["accuracy"].values == {"1": 0.30091666666666667}
    assert curves.cpu_s == pytest.approx(321.893)
    assert curves.picture is not None
    keys = "label algorithm row seeds x mean low high points level"
    assert all(series.keys() == {*keys.split()} for series in curves.picture["series"])
    assert (table.seeds, table.picture, len(table.rows)) == ((1, 2, 3, 4, 5), None, 17)
    assert [claim.verdict for claim in table.claims] == ["holds", "undecided", "holds"]
    [item] = matching("fedcpsl", "semi")
    assert restored(item, table).entries[0]["end"].values[5] == 90.44046127496135


def test_there_are_shipped_results_of_shipped_items_and_they_are_small() -> None:
    assert RESULTS
    assert set(RESULTS) <= set(published())
    root = Path(__file__).parents[3] / "src/fedradio/published/results"
    sizes = {path.name: path.stat().st_size for paper in PAPERS for path in (root / paper).glob("*.json")}
    assert len(sizes) <= len(RESULTS)
    assert max(sizes.values()) < MOST_BYTES
    assert sum(sizes.values()) < ALL_BYTES


@pytest.mark.parametrize("name", RESULTS, ids="-".join)
def test_shipped_results_have_their_form_and_their_verdicts_follow_from_their_numbers(name: tuple[str, str]) -> None:
    item, found = published()[name], shipped_results()[name]
    judged = judge(restored(item, found))
    assert {claim.id: claim.verdict for claim in found.claims} == {one.claim.id: one.judgement for one in judged}
    for stored, one in zip(found.claims, judged, strict=True):
        for test, again in zip(stored.tests, one.tests, strict=True):
            assert (None if again.found is None else again.found.mean) == pytest.approx(test.mean)
            assert test.seeds == len(again.values)
    assert found.wall_s >= 0
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for commit in found.commits)
    assert "/" not in "".join(found.machines)


@pytest.mark.usefixtures("shipped_specs_read_once")
@pytest.mark.parametrize("name", RESULTS, ids="-".join)
def test_shipped_results_are_of_todays_specs(name: tuple[str, str]) -> None:
    assert outdated_parts(published()[name], shipped_results()[name]) == []


def test_a_small_item_that_is_made_again_has_the_shipped_numbers(tmp_path: Path) -> None:
    """OSAFL Fig. 2: buffers of 100 clients over 100 rounds, seed 1."""
    [item], shown = matching("osafl", "fig2"), shipped_results()["osafl", "fig2"]
    plan = plan_reproduction(item, shown.scale, (1,), tmp_path)
    assert make_studies(plan, load_specs(plan.units)) == {}
    again = collect(plan)
    for row_, entries in zip(item.rows, again.entries, strict=True):
        for key, entry in entries.items():
            assert entry.values[1] == pytest.approx(shown.rows[row_.label][key].values["1"], rel=SAME)
