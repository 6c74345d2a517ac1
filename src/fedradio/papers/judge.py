"""Judges the claims of an item on its result: which numbers they are about, and why some cannot be tested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from statistics import fmean
from typing import Any, Literal, cast

from fedradio.papers.absence import Reason
from fedradio.papers.claims import Claim, ClaimTest
from fedradio.papers.collect import Entry, Result
from fedradio.papers.pairs import differences, ratios
from fedradio.papers.verdicts import Region, Verdict, combined, corrected_level, decide, decide_spans, mean_interval
from fedradio.results.statistics import Interval

Span = tuple[float, float]
"""Lower and upper end of a number."""

Judgement = Verdict | Literal["not testable", "not testable at this scale", "not run"]


@dataclass(frozen=True)
class JudgedTest:
    """A test of a claim with its number by seed, its judgement as one of ``tests``, and a reason where it has one.

    ``spans``: seeds whose number is only known to lie between two ends, because a run did not reach a round.
    """

    test: ClaimTest
    values: Mapping[int, float]
    judgement: Judgement
    tests: int = 1
    why: str = ""
    spans: Mapping[int, Span] = field(default_factory=dict)

    @property
    def found(self) -> Interval | None:
        """The mean over seeds with its 95 % interval; None without numbers, or with spans."""
        return mean_interval(list(self.values.values())) if self.values and not self.spans else None

    @property
    def wide(self) -> Interval | None:
        """The interval at the level that refutes the claim, where there are several tests."""
        known = self.values and not self.spans
        return mean_interval(list(self.values.values()), corrected_level(self.tests)) if known else None

    @property
    def mean_span(self) -> Span:
        """Between what the mean over seeds lies."""
        ends = [*((value, value) for value in self.values.values()), *self.spans.values()]
        return fmean(low for low, _ in ends), fmean(high for _, high in ends)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its judgement, those of its tests, and a reason where it cannot be tested."""

    claim: Claim
    judgement: Judgement
    tests: tuple[JudgedTest, ...] = ()
    why: str = ""


def judge(result: Result) -> tuple[JudgedClaim, ...]:
    """The judgements of all claims of an item."""
    return tuple(_judge(result, claim) for claim in result.item.claims)


def _judge(result: Result, claim: Claim) -> JudgedClaim:
    if claim.tests is None:
        return JudgedClaim(claim, "not testable", why=str(claim.not_testable))
    if claim.scale == "paper" and result.reproduction.scale == "quick":
        return JudgedClaim(claim, "not testable at this scale", why="the claim is about the published scale")
    tests = tuple(_judge_test(result, test, len(claim.tests)) for test in claim.tests)
    judgements = [test.judgement for test in tests]
    for missing in ("not testable", "not testable at this scale", "not run"):
        if missing in judgements and "does not hold" not in judgements:
            first = tests[judgements.index(missing)]
            return JudgedClaim(claim, first.judgement, tests, first.why)
    decided = [one for one in judgements if one in ("holds", "does not hold", "undecided")]
    return JudgedClaim(claim, combined(decided), tests)


def _judge_test(result: Result, test: ClaimTest, tests: int) -> JudgedTest:
    """The judgement of one of so many tests."""
    by_label = {row.label: (row, entries) for row, entries in zip(result.rows, result.entries, strict=True)}
    entries = [by_label[label][1][test.column] for label in test.rows]
    for label in test.rows:
        if skip := by_label[label][0].scaled.source.skip:
            why = f"{label} is not run at {result.reproduction.scale} scale: {skip}"
            return JudgedTest(test, {}, "not testable at this scale", tests, why)
    values = numbers(test, entries)
    between = spans(test, entries)
    if not values and not between:
        judgement, why = _absence(test, entries)
        return JudgedTest(test, {}, judgement, tests, why)
    if without := _undefined(result, entries, {*values, *between}):
        return JudgedTest(test, values, "undecided", tests, _listed(without), between)
    if between:
        ends = [*((value, value) for value in values.values()), *between.values()]
        verdict = decide_spans(ends, region_of(test), exact=test.exact, tests=tests)
        return JudgedTest(test, values, verdict, tests, spans=between)
    verdict = decide(list(values.values()), region_of(test), exact=test.exact, tests=tests)
    return JudgedTest(test, values, verdict, tests)


def numbers(test: ClaimTest, entries: list[Entry]) -> dict[int, float]:
    """A test's number by seed: the row's value, the paired difference, or the ratio, from one or two entries."""
    one = entries[0].values
    if test.over is not None:
        return ratios(one, entries[1].values)
    if test.than is not None:
        return differences(one, entries[1].values)
    return dict(one)


def spans(test: ClaimTest, entries: list[Entry]) -> dict[int, Span]:
    """Seeds whose number is only known to lie between two ends; a pair of two such rounds lies anywhere."""
    ends = [
        {seed: (value, value) for seed, value in entry.values.items()}
        | {seed: (bound, inf) for seed, bound in entry.bounds.items()}
        for entry in entries
    ]
    seeds = [seed for seed in ends[0] if any(seed in entry.bounds for entry in entries)]
    if test.other is None:
        return {seed: ends[0][seed] for seed in seeds}
    pairs = {seed: (ends[0][seed], ends[1][seed]) for seed in seeds if seed in ends[1]}
    if test.over is None:
        return {seed: (one[0] - two[1], one[1] - two[0]) for seed, (one, two) in pairs.items()}
    return {seed: (one[0] / two[1], one[1] / two[0]) for seed, (one, two) in pairs.items() if two[0] > 0}


def plain_claims(judged: Iterable[JudgedClaim]) -> list[dict[str, Any]]:
    """Judged claims as plain data for JSON."""
    return [
        one.claim.model_dump(exclude={"tests", "not_testable"})
        | {"verdict": one.judgement, "why": one.why or None, "tests": [_plain_test(test) for test in one.tests]}
        for one in judged
    ]


def _plain_test(judged: JudgedTest) -> dict[str, Any]:
    found, wide = judged.found, judged.wide
    return judged.test.model_dump() | {
        "values": {str(seed): value for seed, value in judged.values.items()},
        "between": {str(seed): [end if isfinite(end) else None for end in span] for seed, span in judged.spans.items()},
        "mean": None if found is None else found.mean,
        "interval": None if found is None else found.ends,
        "corrected_level": corrected_level(judged.tests),
        "corrected_interval": None if wide is None else wide.ends,
        "verdict": judged.judgement,
        "why": judged.why or None,
    }


def region_of(test: ClaimTest) -> Region:
    """The region that a test claims."""
    if test.between is not None:
        return Region(*test.between, closed=True)
    return Region(low=test.above) if test.above is not None else Region(high=cast(float, test.below))


def _absence(test: ClaimTest, entries: list[Entry]) -> tuple[Judgement, str]:
    """The judgement of a test without numbers, and the reason."""
    lost = [(label, each) for label, entry in zip(test.rows, entries, strict=True) for each in entry.lost.values()]
    lasting = [f"{label}: {each}" for label, each in lost if not each.reason.temporary]
    if lost and not lasting:
        return "not run", "its runs have not been made yet"
    return "not testable", lasting[0] if lasting else f"{', '.join(test.rows)}: the number is undefined"


def _listed(without: Mapping[int, str]) -> str:
    return "; ".join(f"seed {seed}: {why}" for seed, why in without.items())


def _undefined(result: Result, entries: list[Entry], known: Collection[int]) -> dict[int, str]:
    """Seeds whose runs have ended without a number or a bound, and why.

    Such seeds are not missing by chance (a run diverged), so that a mean over the others would flatter: nothing can be
    decided from it.
    """
    found = {}
    tuning = result.item.tuning
    for seed in result.reproduction.seeds:
        if tuning is not None and seed == tuning.seed:
            continue
        lost = [entry.lost[seed] for entry in entries if seed in entry.lost]
        if seed in known or any(absence.reason is not Reason.DIVERGED for absence in lost):
            continue
        found[seed] = str(lost[0]) if lost else "the number is undefined"
    return found
