"""Pages of shipped results: every number of them comes from a file."""

from __future__ import annotations

from types import ModuleType

import pytest
from support.claimed import claim, claim_test, claimed_item
from support.costing import each_takes
from support.scripts import script
from support.shipped import shipped_of

from fedradio.papers.claims import ClaimTest
from fedradio.papers.items import Item
from fedradio.report.terminal.claims import claimed_text
from fedradio.report.terminal.shipped import Shipped, open_shipped

CLAIMS = [
    claim(claim_test(than="two", above=0), id="better", abstract="better"),
    claim(
        claim_test(above=2), id="above_two", says="One is above two.", tried="another seed", decided_by="Our reading"
    ),
]
CURVE = {"show": "curves", "series": [{"label": "one"}]}


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("docs/result_pages.py", monkeypatch)


def rows(text: str) -> list[tuple[str, ...]]:
    """The cells of all tables of a page, row by row."""
    lines = [line.strip() for line in text.splitlines()]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines if line.startswith("| ")]


def where(item: Item) -> str:
    return f"page.md#{item.paper}-{item.name}"


@pytest.fixture
def item(monkeypatch: pytest.MonkeyPatch) -> Item:
    """An item of one run of twenty CPU minutes a seed."""
    item = claimed_item(*CLAIMS)
    each_takes(monkeypatch, [item], 1200.0)
    return item


@pytest.fixture
def one(item: Item) -> Shipped:
    stored = shipped_of(item, {"one": [0.8, 0.81, 0.82], "two": [0.5, 0.52, 0.5]}, picture=CURVE)
    return open_shipped(item, stored)


def test_the_overview_counts_by_paper_and_lists_what_fails_and_what_is_missing(
    pages: ModuleType, one: Shipped, item: Item
) -> None:
    text = pages.overview_markdown([one, item], where)
    found = rows(text)
    assert [row[1:] for row in found if row[0] in ("W-HFL", "all") and len(row) == 5] == [("1 of 2", "1", "1", "2")] * 2
    place = "[W-HFL fig9](page.md#whfl-fig9)"
    assert (place, CLAIMS[1]["says"], CLAIMS[1]["tried"], CLAIMS[1]["decided_by"]) in found
    assert ("W-HFL", "fig9", "Accuracy") in [row[:3] for row in found]


def test_sentences_of_abstracts_have_their_evidence(pages: ModuleType, one: Shipped, item: Item) -> None:
    found = rows(pages.abstracts_markdown([one], where))
    [line] = [row for row in found if "[fig9]" in row[0]]
    assert line[0].endswith("[fig9](page.md#whfl-fig9): One learns better than two.")
    assert line[1:] == ("accuracy, one minus two: 0.30 (95 % 0.27 to 0.34, 3 seeds)", "above 0", "**holds**", "3")
    [waiting] = [row for row in rows(pages.abstracts_markdown([item], where)) if "fig9" in row[0]]
    assert waiting[1:] == ("-", "above 0", "**not run**", "-")
    text = pages.abstracts_markdown([one, item], where)
    assert "2 claims are about sentences of the abstracts: 1 holds, 1 not run. 1 have a verdict from 3 or more" in text
    assert "On devices with floors" in text
    assert "**The scores cost the clients no communication" in text


def test_what_the_paper_prints_stands_beside_what_is_claimed(item: Item) -> None:
    printed = [
        row.model_copy(update={"published": {"accuracy": (value,)}})
        for row, value in zip(item.rows, (0.9, 0.6), strict=False)
    ]
    published = item.model_copy(update={"rows": (*printed, *item.rows[2:])})
    others: list[dict[str, str]] = [{}, {"than": "two"}, {"over": "two"}]
    tests = [ClaimTest.model_validate({"column": "accuracy", "row": "one", "above": 0} | other) for other in others]
    texts = [claimed_text(published, test) for test in tests]
    assert texts == ["above 0 (printed: 0.90)", "above 0 (printed: 0.30)", "above 0 (printed: 1.5)"]
    assert claimed_text(item, tests[1]) == "above 0"
    assert claimed_text(published, tests[1].model_copy(update={"than": "long"})) == "above 0"


def test_without_failures_there_is_no_list_of_them(pages: ModuleType, item: Item) -> None:
    good = open_shipped(item, shipped_of(item, {"one": [2.8, 2.81, 2.82], "two": [0.5, 0.52, 0.5]}))
    text = pages.overview_markdown([good], where)
    assert "do not hold" not in text
    assert "was not run" not in text


def test_an_item_shows_paper_ours_and_verdict(pages: ModuleType, one: Shipped) -> None:
    text = pages.item_markdown(one, lambda item: f"{item.name}.svg")
    assert text.startswith("# W-HFL fig9: Accuracy { #whfl-fig9 }")
    assert "![Accuracy](fig9.svg)" in text
    said, ours, verdict = next(row for row in rows(text) if row[0].startswith(CLAIMS[1]["says"]))
    assert all(value in ours for value in ("0.81", "0.79", "0.83", CLAIMS[1]["tried"]))
    assert (said.endswith("[section V]"), verdict) == (True, "**does not hold**")
    assert ("one", "accuracy", "0.81 ± 0.01", "0.79 to 0.83") in rows(text)
    assert "Python 3.11" in text


def test_numbers_come_from_the_file(pages: ModuleType, item: Item, one: Shipped) -> None:
    other = open_shipped(item, shipped_of(item, {"one": [0.7, 0.71, 0.72], "two": [0.5, 0.52, 0.5]}))
    assert "0.81 ± 0.01" not in pages.item_markdown(other)
    assert "0.71 ± 0.01" in pages.item_markdown(other)


def test_what_does_not_hold_says_what_was_tried(pages: ModuleType, item: Item) -> None:
    bad = open_shipped(item, shipped_of(item, {"one": [0.1, 0.11, 0.12], "two": [0.5, 0.52, 0.5]}))
    listed = next(row for row in rows(pages.overview_markdown([bad], where)) if row[1:2] == (CLAIMS[0]["says"],))
    shown = next(row for row in rows(pages.item_markdown(bad)) if row[0].startswith(CLAIMS[0]["says"]))
    assert listed[2]
    assert shown[1].endswith(listed[2])
    assert shown[2] == "**does not hold**"


def test_the_summary_of_an_item_leads_to_its_page(pages: ModuleType, one: Shipped) -> None:
    text = pages.item_summary(one, where, lambda item: f"{item.name}.svg")
    assert text.startswith("## fig9: Accuracy { #whfl-fig9 }")
    assert f"]({where(one.item)}): " in text
    assert "[![Accuracy](fig9.svg){ loading=lazy .thumbnail }](page.md#whfl-fig9)" in text


def test_items_without_results_say_their_cost(pages: ModuleType, item: Item) -> None:
    text = pages.item_summary(item, where, where)
    assert "`fedradio reproduce whfl fig9 --scale paper`" in text
    assert "60 min of CPU time, 3 seeds" in text


def test_outdated_and_unfinished_results_say_so(pages: ModuleType, item: Item) -> None:
    stored = shipped_of(item, {"one": [0.8], "two": [0.5]}, left=("another",))
    old = stored.made[0].model_copy(update={"spec_sha256": "0" * 64})
    text = pages.item_markdown(open_shipped(item, stored.model_copy(update={"made": (old,)})))
    assert "**Outdated**: demo: its spec has changed" in text
    assert "**Not finished**" in text


def test_superseded_results_say_so(pages: ModuleType, item: Item) -> None:
    one = open_shipped(item, shipped_of(item, {"one": [0.8], "two": [0.5]}, superseded="a sum was mended"))
    assert "**Superseded**: a sum was mended" in pages.item_markdown(one)
    assert "1 seed, superseded" in pages.item_summary(one, where, where)


def test_long_tables_are_folded(pages: ModuleType) -> None:
    rows = {f"row {number}": {} for number in range(pages.LONG)}
    item = claimed_item(**rows)
    text = pages.item_markdown(open_shipped(item, shipped_of(item, {"one": [0.8]})))
    assert f'??? note "{pages.LONG + 3} numbers, published and ours"\n\n    |' in text


def test_claims_and_folds_alone(pages: ModuleType, one: Shipped) -> None:
    assert pages.claims_table(one.item, ()) == ""
    assert pages.folded("more", "a\n\nb") == '??? note "more"\n\n    a\n\n    b'
