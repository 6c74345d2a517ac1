"""What is known of the papers' claims from shipped results and from the runs and studies that are stored.

The evidence for a claim is the one with the most seeds at the largest scale at which it has a verdict; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fedradio.papers.claims import Claim
from fedradio.papers.collect import collect
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, Judgement, judge
from fedradio.papers.make import load_specs, outdated
from fedradio.papers.plan import cost, plan_reproduction, reproduce_command, stored_seeds
from fedradio.papers.scales import OUT, SCALES, Scale
from fedradio.papers.shipped import ShippedResult, of_seeds, restored, shipped_results

Origin = Literal["shipped", "stored"]
"""Where numbers come from: a shipped result, or stored runs and studies."""

WORTH: tuple[Judgement, ...] = (
    "holds",
    "does not hold",
    "undecided",
    "not testable",
    "not testable at this scale",
    "not run",
)
"""Judgements, the most telling first; the first two tell as much."""

FEW = 5
"""So many seeds are suggested at least where chance decides."""


VERDICTS: tuple[Judgement, ...] = WORTH[:3]
"""Judgements that numbers have led to."""


@dataclass(frozen=True)
class Evidence:
    """The judgement of a claim from one source: its scale, and the seeds that all of its tests have."""

    judged: JudgedClaim
    scale: Scale
    seeds: tuple[int, ...]
    origin: Origin

    @property
    def rank(self) -> tuple[int, int, int, bool]:
        """The largest is the best: any verdict, then the scale, then seeds, then stored runs before shipped ones."""
        worth = max(WORTH.index(self.judged.judgement), WORTH.index("undecided"))
        return -worth, SCALES.index(self.scale), len(self.seeds), self.origin == "stored"


@dataclass(frozen=True)
class Known:
    """What is known of a claim: its judgement, and the scale, seeds and origin of the best evidence.

    ``command`` would make what could decide it, in about ``left_s`` CPU seconds; empty if it is decided, or cannot be.
    """

    item: Item
    judged: JudgedClaim
    scale: Scale | None
    seeds: tuple[int, ...]
    command: str
    left_s: float
    origin: Origin | None = None


def known_claims(
    items: Sequence[Item],
    out: Path = OUT,
    seeds: Sequence[int] | None = None,
    shipped: Mapping[tuple[str, str], ShippedResult] | None = None,
) -> list[Known]:
    """What is known of every claim of these items from all seeds that are stored or shipped, or from these alone."""
    results = shipped_results() if shipped is None else shipped
    return [
        known
        for item in items
        if item.claims
        for known in _known(item, out, seeds, results.get((item.paper, item.name)))
    ]


def _known(item: Item, out: Path, seeds: Sequence[int] | None, shipped: ShippedResult | None) -> list[Known]:
    found = [*_stored(item, out, seeds), *([] if shipped is None else _shipped(item, shipped, seeds))]
    return [_best(item, claim, [one for one in found if one.judged.claim is claim], out) for claim in item.claims]


def _stored(item: Item, out: Path, seeds: Sequence[int] | None) -> Iterator[Evidence]:
    """What stored runs and studies tell of every claim, by scale."""
    for scale in SCALES:
        chosen = stored_seeds(item, scale, out)
        chosen = chosen if seeds is None else tuple(seed for seed in chosen if seed in seeds)
        if chosen:
            plan = plan_reproduction(item, scale, chosen, out)
            for judged in judge(collect(plan, outdated(plan, load_specs(plan.units)))):
                yield Evidence(judged, scale, tested_seeds(judged), "stored")


def _shipped(item: Item, shipped: ShippedResult, seeds: Sequence[int] | None) -> Iterator[Evidence]:
    """What a shipped result tells of every claim."""
    chosen = shipped if seeds is None else of_seeds(shipped, seeds)
    if chosen is not None:
        for judged in judge(restored(item, chosen)):
            yield Evidence(judged, shipped.scale, tested_seeds(judged), "shipped")


def tested_seeds(judged: JudgedClaim) -> tuple[int, ...]:
    """The seeds that have a number, or a bound, in every test of a claim."""
    seeds = [{*test.values, *test.spans} for test in judged.tests]
    return tuple(sorted(set.intersection(*seeds))) if seeds else ()


def _best(item: Item, claim: Claim, found: Sequence[Evidence], out: Path) -> Known:
    """A claim with its best evidence."""
    if claim.not_testable is not None:
        return Known(item, JudgedClaim(claim, "not testable", why=claim.not_testable), None, (), "", 0.0)
    told = [one for one in found if one.judged.judgement != "not run"]
    best = max(told, key=lambda one: one.rank) if told else None
    judged = JudgedClaim(claim, "not run") if best is None else best.judged
    decided = judged.judgement in VERDICTS[:2] or any(test.why and (test.values or test.spans) for test in judged.tests)
    command, left_s = ("", 0.0) if decided else _deciding(item, judged, best, out)
    if best is None:
        return Known(item, judged, None, (), command, left_s)
    return Known(item, judged, best.scale, best.seeds, command, left_s, best.origin)


def _deciding(item: Item, judged: JudgedClaim, best: Evidence | None, out: Path) -> tuple[str, float]:
    """The command that could decide a claim, and about how many CPU seconds it takes.

    Its scale is that of the evidence or larger: a verdict at a smaller one would not count.
    """
    claim = judged.claim
    at = scale_of(item, claim)
    seeds: tuple[int, ...] = ()
    if best is not None and judged.judgement in VERDICTS:
        seeds, at = best.seeds, max(at, best.scale, key=SCALES.index)
    enough = item.size(at).seeds
    if any(not test.exact for test in claim.tests or ()):
        enough = max(enough, FEW, 2 * len(seeds) if judged.judgement == "undecided" else 0)
    plan = plan_reproduction(item, at, enough, out)
    return reproduce_command(plan), cost(plan).left_s


def scale_of(item: Item, claim: Claim) -> Scale:
    """The smallest scale at which a claim can be tested."""
    rows = {label for test in claim.tests or () for label in test.rows}
    skipped = any(row.quick.skip for row in item.rows if row.label in rows)
    return "paper" if skipped or claim.scale == "paper" else "quick"
