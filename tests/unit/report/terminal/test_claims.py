"""Claims and verdicts in words."""

from __future__ import annotations

from support.claimed import claim, claim_test, claimed_item, result_of
from support.terminal import shown

from fedradio.papers.items import Item
from fedradio.papers.judge import judge
from fedradio.papers.known import Known
from fedradio.report.terminal.claims import claim_lines, claims_markdown, claims_view, known_view

VALUES = {"one": {1: 0.52, 2: 0.63, 3: 0.74}, "two": {1: 0.50, 2: 0.60, 3: 0.70}}
BETTER = claim_test(than="two", above=0)


def lines(item: Item) -> list[str]:
    return claim_lines(item, judge(result_of(item, VALUES))[0])


def test_a_claim_is_its_sentence_and_its_numbers() -> None:
    item = claimed_item(claim(BETTER, note="no margin"))
    assert lines(item) == [
        "One learns better than two. [section V]",
        "accuracy, one minus two: 0.03 (95 % 0.01 to 0.05, 3 seeds); claimed above 0; holds",
        "(no margin)",
    ]
    conditional = claimed_item(claim(BETTER, condition="half of the layouts."))
    assert lines(conditional)[0] == "One learns better than two. [section V] Our condition: half of the layouts."
    ratio = claimed_item(claim(claim_test(over="two", between=[1, 1.04])))
    assert lines(ratio)[1] == (
        "accuracy, one over two: 1.049 (95 % 1.028 to 1.070, 3 seeds); claimed between 1 and 1.04; undecided"
    )
    exact = claimed_item(claim(claim_test(exact=True, below=0.7)))
    assert lines(exact)[1] == "accuracy, one: 0.63 (exact, 3 seeds); claimed below 0.7; does not hold"


def test_why_there_is_no_interval() -> None:
    item = claimed_item(claim(claim_test(above=0)))
    one, two = ({"one": dict.fromkeys(range(1, 1 + n), 0.5)} for n in (1, 2))
    assert "(no interval, 1 seed)" in claim_lines(item, judge(result_of(item, one))[0])[1]
    assert "(equal numbers, no interval, 2 seeds)" in claim_lines(item, judge(result_of(item, two))[0])[1]


def test_a_test_that_fails_only_alone_shows_both_intervals() -> None:
    item = claimed_item(claim(BETTER, claim_test(than="two", above=0.06)))
    assert "95 % 0.01 to 0.05, 97.5 % for one of 2 tests -0.01 to 0.07, 3 seeds" in lines(item)[2]


def test_reasons_stand_below_the_sentence() -> None:
    item = claimed_item(claim(claim_test(than="long", above=0)))
    assert lines(item)[1:] == ["long is not run at quick scale: takes days"]


def test_the_terminal_and_the_page_show_the_same() -> None:
    item = claimed_item(claim(BETTER), claim(id="closed", not_testable="its data are not public"))
    judged = judge(result_of(item, VALUES))
    text = shown(claims_view(item, judged, 6), width=140)
    page = claims_markdown(item, judged, 6)
    for words in ("claimed above 0; holds", "its data are not public", "trials in world 6"):
        assert words in text
        assert words in page
    assert text.splitlines()[2].startswith("holds ")
    assert "- **holds**: One learns better than two. [section V]" in page
    assert "- **not testable**: " in page
    assert claims_markdown(item, (), None) == ""


def test_the_list_counts_verdicts_and_gives_commands() -> None:
    item = claimed_item(claim(BETTER), claim(claim_test(than="two", above=0.02), id="much"))
    holds, open_ = judge(result_of(item, VALUES))
    known = [
        Known(item, holds, "paper", (1, 2, 3), "", 0.0, "shipped"),
        Known(item, open_, "quick", (1, 2, 3), "fedradio reproduce whfl fig9 --seeds 6", 120.0, "stored"),
    ]
    text = " ".join(shown(known_view(known), width=160).split())
    for words in (
        "W-HFL",
        "paper, 3 seeds, shipped",
        "quick, 3 seeds, your runs",
        "-> fedradio reproduce whfl fig9 --seeds 6 (about 2 min of CPU time)",
    ):
        assert words in text
    assert text.endswith("2 claims: 1 holds, 1 undecided")
    assert shown(known_view([*known, known[0]]), width=160).rstrip().endswith("3 claims: 2 hold, 1 undecided")
    assert "no claims" in shown(known_view([]))
