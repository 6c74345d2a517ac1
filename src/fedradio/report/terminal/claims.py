"""Claims of a paper with their verdicts, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Group
from rich.text import Text

from fedradio.papers.claims import Claim, ClaimTest
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, JudgedTest, Judgement, Span, region_of
from fedradio.papers.known import WORTH, Known, Origin
from fedradio.papers.published import PAPERS
from fedradio.papers.verdicts import corrected_level
from fedradio.report.terminal.words import count, plain_table, rough
from fedradio.results.statistics import Interval

STYLES: dict[Judgement, str] = {"holds": "bold green", "does not hold": "bold red", "undecided": "bold yellow"}

ORIGIN: dict[Origin | None, str] = {"shipped": "shipped", "stored": "your runs"}
"""Where the numbers behind a verdict come from, in words."""

NO_INTERVAL = {False: "no interval", True: "equal numbers, no interval"}
"""Why there is no interval: a single seed, or several seeds with equal numbers."""


def claim_lines(item: Item, judged: JudgedClaim, note: bool = True) -> list[str]:
    """The lines of a claim: the sentence with its source and condition, the numbers of its tests, the reason, and its
    ``note``."""
    claim = judged.claim
    return [
        f"{claim.says} [{claim.source}]" + (f" Our condition: {claim.condition}" if claim.condition else ""),
        *(number_line(item, test) for test in judged.tests if test.values or test.spans),
        *([judged.why] if judged.why else []),
        *([f"({claim.note})"] if claim.note and note else []),
        *([f"What we tried: {tried(claim)}"] if judged.judgement == "does not hold" else []),
        *([f"What decides it: {claim.decided_by}"] if claim.decided_by and judged.judgement == "does not hold" else []),
    ]


def tried(claim: Claim) -> str:
    """What was tried for a claim that our results do not support."""
    return claim.tried or "nothing beyond the interpretations noted here."


def number_line(item: Item, judged: JudgedTest) -> str:
    """The number of a test with its interval, and what was claimed about it."""
    test, found = judged.test, judged.found
    column = item.columns[test.column]
    digits = 3 if test.over else column.digits
    unit = f" {column.unit}" if column.unit and not test.over else ""
    if found is None:
        return (
            f"{_quantity(item, test)}: {_span_text(judged, digits, unit)}; claimed {_claimed(test)}; {judged.judgement}"
        )
    over = f"95 % {_ends(found, digits)}" if found.half is not None else NO_INTERVAL[found.n > 1]
    if test.exact:
        over = "exact"
    elif _outside_alone(judged):
        level = f"{100 * corrected_level(judged.tests):.3g} %"
        over += f", {level} for one of {judged.tests} tests {_ends(judged.wide, digits)}"
    text = f"{_quantity(item, test)}: {found.mean:.{digits}f}{unit} ({over}, {count(found.n, 'seed')})"
    return f"{text}; claimed {_claimed(test)}; {judged.judgement}" + (f": {judged.why}" if judged.why else "")


def _span_text(judged: JudgedTest, digits: int, unit: str) -> str:
    """The ends between which the mean lies, and those of the seeds that have no number."""
    everything = len(judged.values) + len(judged.spans)
    each = "; ".join(f"seed {seed}: {_between(span, digits)}{unit}" for seed, span in judged.spans.items())
    numbers = f"{len(judged.values)} of {count(everything, 'seed')} have a number"
    return f"mean {_between(judged.mean_span, digits)}{unit} ({numbers}; {each})"


def _between(span: Span, digits: int) -> str:
    """The finite ends of a number."""
    low, high = span
    if not isfinite(high):
        return f"> {low:.{digits}f}" if isfinite(low) else "unknown"
    return f"{low:.{digits}f} to {high:.{digits}f}" if isfinite(low) else f"< {high:.{digits}f}"


def claimed_text(item: Item, test: ClaimTest) -> str:
    """What the paper claims about a test's number: the region, and the published numbers if there are any."""
    column = item.columns[test.column]
    published = {row.label: row.published.get(test.column) for row in item.rows}
    values = [found[0] for label in test.rows if (found := published[label]) is not None]
    if len(values) < len(test.rows):
        return _claimed(test)
    if test.over is not None:
        return f"{_claimed(test)} (printed: {values[0] / values[1]:.3g})" if values[1] else _claimed(test)
    value = values[0] - values[1] if test.than is not None else values[0]
    return f"{_claimed(test)} (printed: {value:.{column.digits}f})"


def value_text(item: Item, judged: JudgedTest) -> str:
    """The number of a test with its interval, without what was claimed."""
    return number_line(item, judged).partition("; claimed ")[0]


def _outside_alone(judged: JudgedTest) -> bool:
    """Whether a test is undecided only because several are made: by itself, its 95 % interval would refute it."""
    found = judged.found
    if judged.judgement != "undecided" or found is None or found.ends is None:
        return False
    return region_of(judged.test).excludes(*found.ends)


def _ends(found: Interval | None, digits: int) -> str:
    if found is None or found.ends is None:
        return "none"
    low, high = found.ends
    return f"{low:.{digits}f} to {high:.{digits}f}"


def _quantity(item: Item, test: ClaimTest) -> str:
    """What a test is about, in words."""
    title = item.columns[test.column].title
    if test.than is not None:
        return f"{title}, {test.row} minus {test.than}"
    return f"{title}, {test.row} over {test.over}" if test.over is not None else f"{title}, {test.row}"


def _claimed(test: ClaimTest) -> str:
    if test.between is not None:
        return f"between {test.between[0]:g} and {test.between[1]:g}"
    return f"above {test.above:g}" if test.above is not None else f"below {test.below:g}"


def claims_view(item: Item, judged: Sequence[JudgedClaim], world_seed: int | None) -> Group:
    """The claims of an item, shown below its result."""
    rows = [(verdict_text(one.judgement), "\n".join(claim_lines(item, one))) for one in judged]
    table = plain_table(("", ""), rows)
    return Group(Text(), Text(f"what the paper claims{_where(world_seed)}:", style="bold"), table)


def _where(world_seed: int | None) -> str:
    return "" if world_seed is None else f" (seeds are trials in world {world_seed})"


def verdict_text(judgement: Judgement) -> Text:
    return Text(judgement, style=STYLES.get(judgement, ""))


def claims_markdown(item: Item, judged: Sequence[JudgedClaim], world_seed: int | None) -> str:
    """The claims of an item as a Markdown list; empty without any."""
    if not judged:
        return ""
    lines = []
    for one in judged:
        first, *rest = claim_lines(item, one)
        lines += [f"- **{one.judgement}**: {first}", *(f"    - {line}" for line in rest)]
    return f"## What the paper claims{_where(world_seed)}\n\n" + "\n".join(lines)


def known_view(known: Sequence[Known]) -> Group:
    """The list of claims with what is known about each, and the command that could decide it."""
    table = plain_table(("paper", "item", "verdict", "from", "claim"))
    last = ""
    for one in known:
        lines = claim_lines(one.item, one.judged, note=False)
        if one.command:
            lines.append(
                f"-> {one.command} (about {rough(one.left_s)} of CPU time)" if one.left_s else f"-> {one.command}"
            )
        paper = PAPERS[one.item.paper] if one.item.paper != last else ""
        source = f"{one.scale}, {count(len(one.seeds), 'seed')}, {ORIGIN[one.origin]}" if one.scale else "-"
        cells = (Text(paper), Text(one.item.name), verdict_text(one.judged.judgement), Text(source))
        table.add_row(*cells, Text("\n".join(lines)))
        last = one.item.paper
    counted = verdict_counts([one.judged for one in known])
    return Group(table, Text(f"{count(len(known), 'claim')}: {counted}" if known else "no claims"))


def verdict_counts(judged: Sequence[JudgedClaim]) -> str:
    """How many claims have which verdict, such as ``1 holds, 2 do not hold``."""
    kinds = [one.judgement for one in judged]
    several = {"holds": "hold", "does not hold": "do not hold"}
    numbers = {kind: kinds.count(kind) for kind in WORTH if kind in kinds}
    return ", ".join(f"{n} {kind if n == 1 else several.get(kind, kind)}" for kind, n in numbers.items())
