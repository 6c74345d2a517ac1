"""The pages "Do the papers hold?" are made of the shipped results, number by number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from support.scripts import script

from fedradio.papers.items import Item
from fedradio.papers.published import PAPERS, items
from fedradio.papers.shipped import ShippedResult, is_begun, parse_shipped, shipped_results
from fedradio.report.terminal import shipped as views

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("docs/results_hooks.py", monkeypatch)


def page(hooks: ModuleType, name: str) -> str:
    text: str = hooks.on_page_markdown((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    return text


def begun(item: Item) -> ShippedResult | None:
    """The shipped result of an item, if there is one with rows of its own."""
    found = shipped_results().get((item.paper, item.name))
    return found if found is not None and is_begun(item, found) else None


def test_the_overview_links_to_every_result_and_prices_the_rest(hooks: ModuleType) -> None:
    text = page(hooks, "hold")
    assert "<!--" not in text
    for item in items():
        if begun(item):
            assert f"(hold/{item.paper}_{item.name}.md)" in text
        else:
            assert f"| {PAPERS[item.paper]} | {item.name} | " in text


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_a_paper_has_all_its_items_and_leads_to_claims_and_pictures(hooks: ModuleType, paper: str) -> None:
    text = page(hooks, f"hold_{paper}")
    for item in items(paper):
        assert f"{{ #{paper}-{item.name.replace('_', '-')} }}" in text
        found = begun(item)
        assert (f"(hold/{paper}_{item.name}.md)" in text) == (found is not None)
        if found is not None:
            alone = hooks.item_page(paper, item.name)
            assert all(claim.says in alone for claim in item.claims)
            drawn = found.picture is not None and bool(found.picture["series"])
            assert (f"(results/{paper}_{item.name}.svg)" in text) == drawn
            assert (f"(../results/{paper}_{item.name}.svg)" in alone) == drawn


def test_another_number_in_a_file_is_another_number_on_the_page(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hooks.item_page("osafl", "fig3b")
    plain = shipped_results()["osafl", "fig3b"].model_dump(mode="json")
    for numbers in plain["rows"].values():
        for cell in numbers.values():
            cell["values"] = dict.fromkeys(cell["values"], 7.654)
    changed = {**shipped_results(), ("osafl", "fig3b"): parse_shipped(json.dumps(plain), "fig3b.json")}
    monkeypatch.setattr(views, "shipped_results", lambda: changed)
    after = hooks.item_page("osafl", "fig3b")
    assert "7.65" not in before
    assert "7.65" in after


def test_pictures_are_drawn_from_the_files(hooks: ModuleType) -> None:
    drawn = hooks.svg("osafl", "fig2")
    assert drawn.startswith(b"<?xml")
    hooks.svg.cache_clear()
    assert hooks.svg("osafl", "fig2") == drawn  # the same bytes, whenever it is built


def test_numbers_inside_of_other_pages_come_from_the_files(hooks: ModuleType) -> None:
    assert "| quantity | paper | ours |" in hooks.on_page_markdown("<!-- numbers of osafl fig3b -->")
    assert "| what the paper says | ours | verdict |" in hooks.on_page_markdown("<!-- verdicts of osafl fig3b -->")
    with pytest.raises(ValueError, match="has no shipped result"):
        hooks.made("numbers of", "osafl", "fig6d")
    for path in DOCS.glob("*.md"):
        text = hooks.on_page_markdown(path.read_text(encoding="utf-8"))
        assert not re.search(r"<!-- (shipped results|numbers of|verdicts of)", text), path.name
