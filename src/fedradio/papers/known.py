"""What is known of the papers' claims from the runs and studies that are stored; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedradio.papers.claims import Claim
from fedradio.papers.collect import collect
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, Judgement, judge
from fedradio.papers.make import load_specs, outdated
from fedradio.papers.plan import cost, plan_reproduction, reproduce_command, stored_seeds
from fedradio.papers.scales import OUT, SCALES, Scale

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


@dataclass(frozen=True)
class Known:
    """What is known of a claim: its most telling judgement, the scale and seeds behind it.

    ``command`` would make what could decide it, in about ``left_s`` CPU seconds; empty if it is decided, or cannot be.
    """

    item: Item
    judged: JudgedClaim
    scale: Scale | None
    seeds: tuple[int, ...]
    command: str
    left_s: float


def known_claims(items: Sequence[Item], out: Path = OUT, seeds: Sequence[int] | None = None) -> list[Known]:
    """What is known of every claim of these items from all stored seeds, or from these seeds alone."""
    return [known for item in items if item.claims for known in _known(item, out, seeds)]


def _known(item: Item, out: Path, seeds: Sequence[int] | None) -> list[Known]:
    by_scale: dict[Scale, tuple[tuple[int, ...], tuple[JudgedClaim, ...]]] = {}
    for scale in SCALES:
        chosen = stored_seeds(item, scale, out)
        chosen = chosen if seeds is None else tuple(seed for seed in chosen if seed in seeds)
        if chosen:
            plan = plan_reproduction(item, scale, chosen, out)
            by_scale[scale] = chosen, judge(collect(plan, outdated(plan, load_specs(plan.units))))
    return [_best(item, number, by_scale, out) for number in range(len(item.claims))]


def _best(
    item: Item,
    number: int,
    by_scale: Mapping[Scale, tuple[tuple[int, ...], tuple[JudgedClaim, ...]]],
    out: Path,
) -> Known:
    """The most telling of a claim's judgements, that of the published scale where both tell as much."""
    claim = item.claims[number]
    judged, scale = JudgedClaim(claim, "not run"), None
    seeds: tuple[int, ...] = ()
    if claim.not_testable is not None:
        return Known(item, JudgedClaim(claim, "not testable", why=claim.not_testable), None, (), "", 0.0)
    for at, (of, claims) in by_scale.items():  # the published scale comes last
        if _worth(claims[number].judgement) <= _worth(judged.judgement):
            judged, scale, seeds = claims[number], at, of
    if judged.judgement in ("holds", "does not hold") or any(test.why and test.values for test in judged.tests):
        return Known(item, judged, scale, seeds, "", 0.0)
    command, left_s = _deciding(item, judged, seeds, out)
    return Known(item, judged, scale, seeds, command, left_s)


def _worth(judgement: Judgement) -> int:
    return max(1, WORTH.index(judgement))


def _deciding(item: Item, judged: JudgedClaim, seeds: tuple[int, ...], out: Path) -> tuple[str, float]:
    """The command that could decide a claim, and about how many CPU seconds it takes."""
    claim = judged.claim
    at = scale_of(item, claim)
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
