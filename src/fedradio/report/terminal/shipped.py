"""Shipped results for the terminal: all items with their verdicts, and one item next to its published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from fedradio.core.units import show_seconds
from fedradio.papers.collect import Result
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, Judgement, judge
from fedradio.papers.known import WORTH
from fedradio.papers.plan import shipped_cost_s
from fedradio.papers.published import PAPERS
from fedradio.papers.shipped import ShippedResult, is_begun, outdated_parts, restored, shipped_results
from fedradio.report.terminal.claims import claims_view, verdict_counts
from fedradio.report.terminal.reproduction import heading, numbers_table, result_text, seeds_text, trials
from fedradio.report.terminal.words import count, plain_table, rough

MADE = ("run or study", "seeds", "wall time", "CPU time", "spec")
"""Header of the table of runs and studies; specs are shown by the first characters of their fingerprints."""

SHORT = 12
"""Number of characters shown of a fingerprint or commit."""


@dataclass(frozen=True)
class Shipped:
    """An item with its shipped result, the verdicts on its claims, and what is outdated about it."""

    item: Item
    stored: ShippedResult
    result: Result
    judged: tuple[JudgedClaim, ...]
    outdated: tuple[str, ...]


def opened(
    items: Iterable[Item], results: Mapping[tuple[str, str], ShippedResult] | None = None
) -> list[Item | Shipped]:
    """Every item with its shipped result, if there is one with rows of its own."""
    found = shipped_results() if results is None else results
    return [
        open_shipped(item, stored)
        if (stored := found.get((item.paper, item.name))) is not None and is_begun(item, stored)
        else item
        for item in items
    ]


def open_shipped(item: Item, stored: ShippedResult) -> Shipped:
    """An item with its shipped result; verdicts follow from the numbers in the file."""
    result = restored(item, stored)
    return Shipped(item, stored, result, judge(result), tuple(outdated_parts(item, stored)))


@dataclass(frozen=True)
class ShippedCounts:
    """How many items have shipped results, ``whole`` ones with all of their rows, ``fewer`` of these with fewer seeds
    than the item has at that scale, and how many claims which verdict."""

    items: int
    found: int
    whole: int
    fewer: int
    verdicts: Mapping[Judgement, int]

    @property
    def claims(self) -> int:
        """Number of claims, with and without a verdict."""
        return sum(self.verdicts.values())

    def sentence(self) -> str:
        """The counts in one sentence, which pages repeat."""
        texts: dict[Judgement, str] = {
            "holds": "{} hold",
            "does not hold": "{} do not hold",
            "undecided": "{} are undecided",
            "not testable": "{} cannot be tested",
            "not testable at this scale": "{} need the published scale",
            "not run": "{} have not been run",
        }
        parts = [text.format(self.verdicts[kind]) for kind, text in texts.items() if self.verdicts.get(kind)]
        seeds = f", {self.fewer} of them with fewer seeds than planned" if self.fewer else ""
        whole = f"{self.whole} of {self.items} tables, figures and studies were run with all their rows{seeds}."
        if not parts:
            return whole
        *others, last = parts
        listed = f"{', '.join(others)} and {last}" if others else last
        return f"{whole} Of {self.claims} claims, {listed}."


def shipped_counts(listed: Iterable[Item | Shipped]) -> ShippedCounts:
    """The counts of some items. A claim of an item without a shipped result is not run, or not testable at all."""
    listed = list(listed)
    found = [one for one in listed if isinstance(one, Shipped)]
    kinds: list[Judgement] = [judged.judgement for one in found for judged in one.judged]
    absent = [claim for one in listed if not isinstance(one, Shipped) for claim in one.claims]
    kinds += ["not run" if claim.tests else "not testable" for claim in absent]
    verdicts = {kind: kinds.count(kind) for kind in WORTH}
    whole = [one for one in found if one.stored.whole]
    fewer = sum(len(one.stored.seeds) < one.item.size(one.stored.scale).seeds for one in whole)
    return ShippedCounts(len(listed), len(found), len(whole), fewer, verdicts)


def seeds_made(stored: ShippedResult) -> str:
    """How many seeds were made, such as ``1 to 3 seeds`` where rows have different seeds."""
    numbers = {len(made.seeds) for made in stored.made}
    least, most = min(numbers, default=0), max(numbers, default=0)
    return f"{least} to {count(most, 'seed')}" if least < most else count(most, "seed")


def agreement(result: Result) -> str:
    """How many of the published numbers agree, as text; a dash without any."""
    compared = result.compared
    return f"{sum(bool(entry.agrees) for entry in compared)} of {len(compared)}" if compared else "-"


def size_text(shipped: Shipped) -> str:
    """Scale, seeds, and whether something is missing, outdated or superseded."""
    stored = shipped.stored
    text = f"{stored.scale} scale, {seeds_made(stored)}"
    marks = {"not finished": not stored.whole, "outdated": shipped.outdated, "superseded": stored.superseded}
    return text + "".join(f", {mark}" for mark, applies in marks.items() if applies)


def cost_text(item: Item) -> str:
    """The cost of an item at paper scale, on the machine that measured the shipped table."""
    return f"about {rough(shipped_cost_s(item, 'paper'))} of CPU time, {count(item.size('paper').seeds, 'seed')}"


def shipped_list_view(listed: Sequence[Item | Shipped]) -> Group:
    """All items: scale and seeds of the shipped result, verdicts, agreeing numbers, CPU time; or the expected cost."""
    table = plain_table(("paper", "item", "ours", "numbers that agree", "claims of the paper", "CPU time, or cost"))
    last = ""
    for one in listed:
        item = one.item if isinstance(one, Shipped) else one
        if isinstance(one, Shipped):
            cells = (size_text(one), agreement(one.result), verdict_counts(one.judged), show_seconds(one.stored.cpu_s))
        else:
            cells = ("not run", "", "", cost_text(item))
        table.add_row(*map(Text, (PAPERS[item.paper] if item.paper != last else "", item.name, *cells)))
        last = item.paper
    counts = shipped_counts(listed)
    missing = counts.found - counts.whole
    partly = f" {count(missing, 'further item')} {'has' if missing == 1 else 'have'} a part." if missing else ""
    legend = "to see items in full: fedradio reproduce PAPER ITEM... --published-results"
    return Group(table, Text(counts.sentence() + partly), Text(legend))


def shipped_view(one: Item | Shipped) -> Group:
    """A shipped result next to the published numbers, with its claims and the runs behind it."""
    if not isinstance(one, Shipped):
        make = f"fedradio reproduce {one.paper} {one.name} --scale paper"
        return Group(heading(one), Text(f"not run: {make} takes {cost_text(one)}"))
    item, stored = one.item, one.stored
    texts, reproduction = result_text(one.result), one.result.reproduction
    table, made = numbers_table(texts), plain_table(MADE, made_rows(stored))
    return Group(
        heading(item),
        Text(f"published: {item.source}"),
        Text(
            f"ours: {stored.scale} scale, {trials(reproduction, seeds_made(stored))}; {item.size(stored.scale).about}"
        ),
        *([Text(f"superseded: {stored.superseded}", style="bold yellow")] if stored.superseded else []),
        *(Text(f"outdated: {problem}", style="bold yellow") for problem in one.outdated),
        *([] if stored.whole else [Text("not finished: some runs are still missing", style="bold yellow")]),
        Text(),
        table,
        Text(),
        *(Text(f"({number}) {note}") for number, note in enumerate(texts.notes, start=1)),
        *(Text(f"- {note}") for note in item.footnotes),
        Text(texts.verdict),
        Text(),
        made,
        Text(made_text(stored)),
        *((claims_view(item, one.judged, reproduction.world), Text()) if item.claims else ()),
    )


def made_rows(stored: ShippedResult) -> list[tuple[str, ...]]:
    """The runs and studies of a shipped result under :data:`MADE`."""
    return [
        (
            made.label,
            seeds_text(made.seeds),
            show_seconds(made.wall_s),
            show_seconds(made.cpu_s),
            made.spec_sha256[:SHORT],
        )
        for made in stored.made
    ]


def made_text(stored: ShippedResult) -> str:
    """The versions that made a shipped result, and how long it took."""
    packages = [f"{name} {', '.join(versions)}" for name, versions in stored.packages.items()]
    commits = [f"commit {commit[:SHORT]}" for commit in stored.commits]
    pieces = [f"fedradio {', '.join(stored.fedradio)}", *commits, *(f"Python {one}" for one in stored.python)]
    by = ", ".join([*pieces, *packages, *stored.machines])
    return (
        f"wall time {show_seconds(stored.wall_s)}, CPU time {show_seconds(stored.cpu_s)}; {by}; made by: "
        f"{stored.command}"
    )
