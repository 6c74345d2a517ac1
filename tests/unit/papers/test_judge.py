"""Claims judged on results made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from support.claimed import claim, claim_test, claimed_item, result_of

from fedradio.papers.absence import Absence, Reason
from fedradio.papers.claims import ClaimTest
from fedradio.papers.collect import Entry
from fedradio.papers.items import Column
from fedradio.papers.judge import JudgedClaim, judge, plain_claims, spans

ONE = {1: 0.52, 2: 0.63, 3: 0.74}
TWO = {1: 0.50, 2: 0.60, 3: 0.70}
BETTER = claim_test(than="two", above=0)


def judged(*claims: dict[str, Any], **given: Any) -> JudgedClaim:
    return judge(result_of(claimed_item(*claims), given.pop("values", {"one": ONE, "two": TWO}), **given))[0]


def test_a_difference_is_paired_by_seed() -> None:
    """.02, .03, .04, though the accuracies themselves spread by .1: see the case by hand in verdicts."""
    found = judged(claim(BETTER))
    assert found.judgement == "holds"
    assert list(found.tests[0].values.values()) == pytest.approx([0.02, 0.03, 0.04])
    assert found.tests[0].found is not None
    assert found.tests[0].found.low == pytest.approx(0.03 - 0.02484, abs=1e-5)
    assert judged(claim(claim_test(than="two", above=0.06))).judgement == "does not hold"
    assert judged(claim(claim_test(than="two", above=0.02))).judgement == "undecided"


def test_ratios_are_taken_by_seed_and_values_as_they_are() -> None:
    found = judged(claim(claim_test(over="two", between=[1.0, 1.1])))
    assert list(found.tests[0].values.values()) == pytest.approx([1.04, 1.05, 0.74 / 0.7])
    assert found.judgement == "holds"
    assert judged(claim(claim_test(above=0.3))).judgement == "holds"
    assert judged(claim(claim_test(below=0.3))).judgement == "does not hold"


def test_only_common_seeds_count() -> None:
    lost = {"two": {4: Absence(Reason.NOT_RUN)}}
    found = judged(claim(BETTER), values={"one": ONE | {4: 0.1}, "two": TWO}, lost=lost)
    assert list(found.tests[0].values) == [1, 2, 3]
    assert found.judgement == "holds"


def test_one_seed_is_undecided_unless_exact() -> None:
    one = {"one": {1: 0.9}, "two": {1: 0.1}}
    assert judged(claim(BETTER), values=one).judgement == "undecided"
    assert judged(claim(BETTER | {"exact": True}), values=one).judgement == "holds"


def test_all_tests_have_to_hold_and_refute_at_a_corrected_level() -> None:
    fails = claim_test(than="two", above=0.06)
    assert judged(claim(BETTER, fails)).judgement == "undecided"  # it fails alone, but not as one of two
    assert judged(claim(BETTER, claim_test(than="two", above=0.07))).judgement == "does not hold"
    assert judged(claim(BETTER, claim_test(above=0.3))).judgement == "holds"


def test_a_seed_that_ended_without_a_number_decides_nothing() -> None:
    """It is not missing by chance: the others alone would flatter."""
    values = {"one": ONE, "two": TWO}
    diverged = judged(claim(BETTER), values=values, lost={"two": {4: Absence(Reason.DIVERGED, "round 3")}})
    assert (diverged.judgement, diverged.tests[0].why) == ("undecided", "seed 4: diverged: round 3")
    undefined = judged(claim(BETTER), values={"one": ONE | {4: 0.8}, "two": TWO})
    assert (undefined.judgement, undefined.tests[0].why) == ("undecided", "seed 4: the number is undefined")
    zero = judged(claim(claim_test(over="two", above=0)), values={"one": ONE, "two": TWO | {3: 0.0}})
    assert zero.tests[0].why == "seed 3: the number is undefined"


def test_rounds_that_were_not_reached_are_bounds() -> None:
    """Rounds 94, 98 and none within 100, against 30, 31 and 32: at least 64, 67 and 68 more."""
    result = result_of(claimed_item(), {"one": {1: 94.0, 2: 98.0}, "two": {1: 30.0, 2: 31.0, 3: 32.0}})
    late, early = (entries["accuracy"] for entries in result.entries[:2])
    late = replace(late, bounds={3: 100.0})
    assert (late.ours, late.deviation, late.least) == (None, None, pytest.approx(97.3333, abs=1e-4))
    than, over = (ClaimTest(column="accuracy", row="one", above=0, **{word: "two"}) for word in ("than", "over"))
    assert spans(than, [late, early]) == {3: (68.0, inf)}
    assert spans(than, [early, late]) == {3: (-inf, -68.0)}
    assert spans(than, [late, late]) == {3: (-inf, inf)}
    assert spans(over, [late, early]) == {3: (3.125, inf)}
    assert spans(over, [early, late]) == {3: (0.0, 0.32)}
    assert spans(ClaimTest(column="accuracy", row="two", above=0), [early]) == {}
    item = claimed_item(claim(claim_test(than="two", above=20), claim_test(below=200)))
    entries = tuple({"accuracy": entry} for entry in (late, early, result.entries[2]["accuracy"]))
    [found] = judge(replace(result_of(item, {"one": {3: 1.0}}), entries=entries))
    assert [test.judgement for test in found.tests] == ["holds", "undecided"]
    assert found.tests[0].mean_span == (pytest.approx((64 + 67 + 68) / 3), inf)
    assert found.tests[0].found is None
    assert found.tests[0].wide is None
    assert plain_claims([found])[0]["tests"][0]["between"] == {"3": [68.0, None]}


def test_a_published_round_below_a_bound_does_not_agree() -> None:
    column = Column(title="rounds", measure="rounds_to@0.95", within=5)
    values, bounds = {1: 94.0, 2: 98.0}, {3: 100.0}
    agree = [Entry(column, (at,), values, {}, bounds=bounds).agrees for at in (30.0, 93.0, 200.0)]
    assert agree == [False, None, None]
    assert Entry(column, (30.0,), {}, {}, bounds=bounds).least == 100.0


def test_verdicts_read_reasons_and_no_words() -> None:
    values = {"one": ONE, "two": TWO}
    failed = Absence(Reason.FAILED, "the copies have diverged")
    assert judged(claim(BETTER), values=values, lost={"two": {4: failed}}).judgement == "holds"
    waiting = Absence(Reason.NOT_RUN).of_row("two")
    assert judged(claim(claim_test(above=0)), values={}, lost={"one": {1: waiting}}).judgement == "not run"
    assert judged(claim(claim_test(above=0)), values={}, lost={"one": {1: failed}}).judgement == "not testable"


def test_what_cannot_be_tested_says_why() -> None:
    given = judged(claim(not_testable="its data are not public"))
    assert (given.judgement, given.why) == ("not testable", "its data are not public")
    large = judged(claim(BETTER, scale="paper"))
    assert (large.judgement, large.why) == ("not testable at this scale", "the claim is about the published scale")
    assert judged(claim(BETTER, scale="paper"), scale="paper").judgement == "holds"
    skipped = judged(claim(claim_test(than="long", above=0)))
    assert skipped.judgement == "not testable at this scale"
    assert skipped.why == "long is not run at quick scale: takes days"
    absent = judged(claim(BETTER), values={"one": ONE}, lost={"two": {1: Absence(Reason.NO_DATA)}})
    assert (absent.judgement, absent.why) == ("not testable", "two: no data")
    never = judged(claim(claim_test(above=0)), values={})
    assert (never.judgement, never.why) == ("not testable", "one: the number is undefined")


@pytest.mark.parametrize("reason", Reason)
def test_what_the_same_command_would_run_is_not_run(reason: Reason) -> None:
    found = judged(claim(BETTER), values={"one": ONE}, lost={"two": dict.fromkeys((1, 2, 3), Absence(reason))})
    later = reason in (Reason.NOT_RUN, Reason.UNFINISHED, Reason.INTERRUPTED)
    assert found.judgement == ("not run" if later else "not testable")


def test_one_test_that_fails_is_enough() -> None:
    found = judged(claim(claim_test(than="two", above=0.5), claim_test(than="long", above=0)))
    assert found.judgement == "does not hold"
    undecided = judged(claim(claim_test(than="two", above=0.02), claim_test(than="long", above=0)))
    assert undecided.judgement == "not testable at this scale"


def test_judgements_are_plain_data() -> None:
    item = claimed_item(claim(BETTER, note="0 is ours"), claim(id="closed", not_testable="no data"))
    plain = json.loads(json.dumps(plain_claims(judge(result_of(item, {"one": ONE, "two": TWO}))), allow_nan=False))
    assert [(one["id"], one["verdict"], one["why"]) for one in plain] == [
        ("better", "holds", None),
        ("closed", "not testable", "no data"),
    ]
    [test] = plain[0]["tests"]
    assert (test["row"], test["than"], test["above"]) == ("one", "two", 0)
    assert test["values"].keys() == {"1", "2", "3"}
    assert test["interval"] == pytest.approx([0.00516, 0.05484], abs=1e-5)
    assert plain[0]["note"] == "0 is ours"
