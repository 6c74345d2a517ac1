"""Reproductions for the terminal and as Markdown: our numbers next to the published ones, items and their costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedradio.core.units import show_seconds
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import Entry, Result, RowResult
from fedradio.papers.items import Column, Item
from fedradio.papers.judge import judge
from fedradio.papers.plan import Cost, Reproduction, Unit, shipped_cost_s
from fedradio.papers.published import PAPERS
from fedradio.papers.scales import SCALES, Scale
from fedradio.papers.tuning import remaining
from fedradio.report.terminal.claims import claims_markdown, claims_view
from fedradio.report.terminal.words import count, markdown_table, plain_table, rough

HEADER = ("", "quantity", "paper", "ours", "95 % interval", "difference", "")
"""Header of the table of numbers; ``±`` is the standard deviation, over seeds or as published."""

ALWAYS = ("quantity", "ours")
"""Columns shown even if empty; one seed has no interval, and some figures have no published numbers."""

MADE = ("run or study", "seeds", "wall time")
"""Header of the table of runs and studies."""

SHARED = "counted above"
"""Shown in place of the expected time of what another item counts."""

PLAIN_HEADER = ("", "ours")
"""Header of items without numbers to compare."""


@dataclass
class Footnotes:
    """Footnotes in the order of first use."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        """The footnote's number in brackets; new texts are added."""
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


@dataclass(frozen=True)
class ResultText:
    """A result as text: header and rows of its table, footnotes, verdict."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: list[str]
    verdict: str


def result_text(result: Result) -> ResultText:
    """The texts of a result, the same for the terminal and the Markdown file."""
    notes = Footnotes()
    rows: list[tuple[str, ...]] = []
    for row, entries in zip(result.rows, result.entries, strict=True):
        if not entries:
            rows.append((row.label, _presence(row, result.reproduction, notes)))
        for number, key in enumerate(key for key in entries if result.item.wants(row.scaled.row, key)):
            label = row.label if number == 0 else ""
            rows.append((label, *_entry_texts(entries[key], row, result.reproduction, notes)))
    header: tuple[str, ...] = HEADER if result.item.columns else PLAIN_HEADER
    shown = [n for n, title in enumerate(header) if title in ALWAYS or any(texts[n] not in ("", "-") for texts in rows)]
    body = [tuple(texts[n] for n in shown) for texts in rows]
    return ResultText(
        tuple(header[n] for n in shown), body, notes.texts, "; ".join([_verdict(result), *_leads(result)])
    )


def _leads(result: Result) -> list[str]:
    """How much of its lead the winner keeps over every other method if all are tuned equally."""
    entries = {row.label: each for row, each in zip(result.rows, result.entries, strict=True)}
    texts = []
    for one in remaining(result.item, entries):
        share = "" if one.share is None else f" ({100 * one.share:.0f} % remains)"
        texts.append(
            f"{one.winner} over {one.other}: {one.published:.4f} at the published rates, {one.tuned:.4f}{share}"
        )
    return texts


def _entry_texts(entry: Entry, row: RowResult, reproduction: Reproduction, notes: Footnotes) -> tuple[str, ...]:
    """The texts of an entry under :data:`HEADER`, without the row's label."""
    column = entry.column
    quantity = f"{column.title} [{column.unit}]" if column.unit else column.title
    if entry.note:
        quantity += f" {notes.mark(entry.note)}"
    paper = _with_deviation(column, *entry.published) if entry.published else "-"
    ours = entry.ours
    if entry.least is not None:
        text = f"> {_number(column, entry.least)}, {_share_of_seeds(entry, reproduction, notes)}"
        gap = "-" if entry.published is None else f"> {entry.least - entry.published[0]:+.{column.digits}f}"
        return quantity, paper, text, "-", gap, "!" if entry.agrees is False else ""
    if ours is None:
        why = _absence(row, reproduction, entry.lost.values(), notes)
        return quantity, paper, why, "-", "-", ""
    text = _with_deviation(column, ours.mean, entry.deviation)
    if entry.lost:
        text += f", {_share_of_seeds(entry, reproduction, notes)}"
    ends = [_number(column, end) for end in (ours.low, ours.high) if end is not None]
    return quantity, paper, text, " to ".join(ends) or "-", _difference(entry), "!" if entry.agrees is False else ""


def _share_of_seeds(entry: Entry, reproduction: Reproduction, notes: Footnotes) -> str:
    """How many seeds have a number; a footnote says why the others have none."""
    reasons = {seed: f"not within {bound:g} rounds" for seed, bound in entry.bounds.items()}
    reasons |= {seed: str(absence) for seed, absence in entry.lost.items()}
    without = "; ".join(f"seed {seed}: {reason}" for seed, reason in sorted(reasons.items()))
    return f"{len(entry.values)} of {count(len(reproduction.seeds), 'seed')} {notes.mark(without)}"


def _absence(row: RowResult, reproduction: Reproduction, lost: Iterable[Absence], notes: Footnotes) -> str:
    """A short reason why there is no number; the details are in a footnote."""
    if row.scaled.source.skip:
        return f"not run at {reproduction.scale} scale {notes.mark(row.scaled.source.skip)}"
    first = next(iter(lost), None)
    if first is None:
        return "-"
    if first.reason is Reason.NO_DATA or not first.detail:
        return str(first)
    return f"{first.reason} {notes.mark(str(first))}"


def _presence(row: RowResult, reproduction: Reproduction, notes: Footnotes) -> str:
    """How many seeds a row without numbers is drawn from, or why there are none."""
    if row.scaled.source.skip or not (row.runs or any(row.studies.values())):
        return _absence(row, reproduction, row.lost.values(), notes)
    seeds = {seed for by_seed in (row.runs, *row.studies.values()) for seed in by_seed}
    lost = "; ".join(dict.fromkeys(map(str, row.lost.values())))
    return f"{count(len(seeds), 'seed')}" + (f" of {len(reproduction.seeds)} {notes.mark(lost)}" if lost else "")


def _with_deviation(column: Column, value: float, deviation: float | None = None) -> str:
    return _number(column, value) + ("" if deviation is None else f" ± {_number(column, deviation)}")


def _number(column: Column, value: float) -> str:
    return f"{value:.{column.digits}f}"


def _difference(entry: Entry) -> str:
    """The difference from the published value, also in percent if the tolerance is a share."""
    if entry.difference is None or entry.published is None:
        return "-"
    text = f"{entry.difference:+.{entry.column.digits}f}"
    if entry.column.within_share is None or entry.published[0] == 0:
        return text
    return f"{text} ({100 * entry.difference / abs(entry.published[0]):+.0f} %)"


def _verdict(result: Result) -> str:
    """A sentence on how many published numbers agree with ours."""
    compared = result.compared
    missing = sum(
        entry.published is not None and entry.agrees is None for row in result.entries for entry in row.values()
    )
    if not compared and not missing:
        return "no published numbers to compare with"
    if not compared:
        return f"none of {count(missing, 'published number')} can be compared"
    agree = sum(bool(entry.agrees) for entry in compared)
    tolerances = {
        f"{column.title} {_tolerance(column)}": None for column in result.item.columns.values() if _tolerance(column)
    }
    others = "; ! marks the others" if agree < len(compared) else ""
    text = f"{agree} of {len(compared)} published numbers agree{others} ({', '.join(tolerances)})"
    return text + (f"; {missing} more cannot be compared" if missing else "")


def _tolerance(column: Column) -> str:
    """The tolerance of a column as text."""
    known = [] if column.within is None else [f"{column.within:g} {column.unit}".rstrip()]
    known += [] if column.within_share is None else [f"{100 * column.within_share:g} %"]
    return f"within {' or '.join(known)}" if known else ""


def _made(result: Result) -> list[tuple[str, ...]]:
    """One row per spec or study that was made: label with overrides, seeds, wall time."""
    groups: dict[str, list[Unit]] = {}
    for unit in result.reproduction.units:
        if unit.stored() is not None:
            groups.setdefault(unit.label.removesuffix(f" seed {unit.seed}"), []).append(unit)
    rows: list[tuple[str, ...]] = []
    for label, units in groups.items():
        walls = [stored.wall_s for unit in units if (stored := unit.stored())]
        rows.append((label, seeds_text([unit.seed for unit in units]), show_seconds(sum(walls))))
    return rows


def seeds_text(seeds: Sequence[int]) -> str:
    """Seeds as text, consecutive ones as a range."""
    whole = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def result_view(result: Result, files: Sequence[Path]) -> Group:
    """A result for the terminal, with the files it was written to."""
    item, reproduction = result.item, result.reproduction
    size = item.size(reproduction.scale)
    texts = result_text(result)
    table, rows = numbers_table(texts), _made(result)
    made = plain_table(MADE, rows)
    wall = f"total wall time {show_seconds(result.wall_s)}"
    lines: list[RenderableType] = [
        heading(item),
        Text(f"published: {item.source}"),
        Text(f"ours: {reproduction.scale} scale, {trials(reproduction)}; {size.about}"),
        Text(),
        table,
        Text(),
        *(Text(f"({number}) {note}") for number, note in enumerate(texts.notes, start=1)),
        *(Text(f"- {note}") for note in item.footnotes),
        Text(texts.verdict),
        Text(),
        *((made, Text(wall)) if rows else (Text(_nothing_run(reproduction)),)),
        *((claims_view(item, judge(result), reproduction.world), Text()) if item.claims else ()),
        *(Text(f"wrote {file}") for file in files),
    ]
    return Group(*lines)


def numbers_table(texts: ResultText) -> Table:
    """Our numbers next to the published ones, those that disagree marked."""
    marked = [[Text(text, style="bold red" if text == "!" else "") for text in row] for row in texts.rows]
    return plain_table(texts.header, marked)


def trials(reproduction: Reproduction, seeds: str = "") -> str:
    """Seeds, by default those of the plan, and the world where all of them share one."""
    world = "" if (shared := reproduction.world) is None else f" in world {shared}"
    return f"{seeds or count(len(reproduction.seeds), 'seed')}{world}"


def result_markdown(result: Result, pictures: Sequence[Path]) -> str:
    """A result as a Markdown page; its pictures are files beside it."""
    item, reproduction = result.item, result.reproduction
    size = item.size(reproduction.scale)
    texts, made = result_text(result), _made(result)
    parts = [
        f"# {PAPERS[item.paper]} {item.name}: {item.title}",
        f"Published: {item.source}",
        f"Ours: {reproduction.scale} scale, {trials(reproduction)}; {size.about}",
        *(f"![{item.title}]({path.name})" for path in pictures if path.suffix == ".png"),
        markdown_table(texts.header, texts.rows),
        "\n".join(f"({number}) {note}  " for number, note in enumerate(texts.notes, start=1)),
        "\n".join(f"- {note}" for note in item.footnotes),
        texts.verdict,
        markdown_table(MADE, made),
        f"Total wall time {show_seconds(result.wall_s)}." if made else _nothing_run(reproduction),
        claims_markdown(item, judge(result), reproduction.world),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _nothing_run(reproduction: Reproduction) -> str:
    """A sentence for a result without runs, with the command that would make some."""
    item = reproduction.item
    if reproduction.units or reproduction.scale == "paper" or not any(row.paper.spec for row in item.rows):
        return "nothing was run"
    command = f"fedradio reproduce {item.paper} {item.name} --scale paper"
    return f"nothing is run at quick scale; `{command}` takes {rough(shipped_cost_s(item, 'paper'))} of CPU time"


def list_view(listed: Sequence[tuple[Item, Mapping[Scale, Cost]]], out: Path) -> Group:
    """The list of items with seeds, expected CPU time and progress at both scales."""
    table = plain_table(("paper", "item", "what it shows", "quick", "", "paper scale", ""))
    last = ""
    for item, costs in listed:
        texts = [text for scale in SCALES for text in _cost_texts(costs[scale])]
        table.add_row(*map(Text, (PAPERS[item.paper] if item.paper != last else "", item.name, item.title, *texts)))
        last = item.paper
    where = f"CPU time of all cores; existing runs: {out}/"
    return Group(table, Text(f"{where}; to make items: fedradio reproduce PAPER ITEM... [--scale paper]"))


def _cost_texts(cost: Cost) -> tuple[str, str]:
    """The cost of an item at a scale, and how much of it is done."""
    if not cost.units:
        return "-", "not run"
    takes = f"{rough(cost.total_s)}, {count(cost.seeds, 'seed')}"
    if cost.done == cost.units:
        return takes, "done"
    return takes, f"{cost.done} of {cost.units}, {rough(cost.left_s)} left" if cost.done else ""


def reproduction_view(
    reproduction: Reproduction,
    cpu_s: Mapping[Path, float],
    blocked: Mapping[Path, Absence],
    counted: Collection[Path] = (),
) -> Group:
    """What a reproduction would make, with expected CPU times, and what it skips.

    ``counted``: paths of work that another item counts.
    """
    seen = set(counted)
    rows: list[tuple[str, str, str]] = []
    left: list[float] = []
    for unit in reproduction.units:
        shared, expected_s = unit.work.path in seen, cpu_s[unit.path]
        missing = not unit.settled() and unit.path not in blocked
        state = str(blocked[unit.path]) if unit.path in blocked else _state(unit)
        rows.append((unit.label, state, SHARED if shared and missing else rough(expected_s)))
        if missing:
            left += [] if shared else [expected_s]
            seen.add(unit.work.path)
    table = plain_table(("run or study", "state", "CPU time"), rows)
    skipped = [
        Text(f"{scaled.row.label}: not run at {reproduction.scale} scale: {scaled.source.skip}")
        for scaled in reproduction.rows
        if scaled.source.skip
    ]
    totals = [f"{len(left)} to make, about {rough(sum(left))} of CPU time"] if left else []
    shared_rows = sum(row[-1] == SHARED for row in rows)
    totals += [f"{shared_rows} {SHARED}"] if shared_rows else []
    totals += [f"{len(blocked)} without data"] if blocked else []
    total = ", ".join(totals) or "nothing left to make"
    tables = [table] if reproduction.units else []
    return Group(heading(reproduction.item), *tables, *skipped, Text(f"{total}; folder {reproduction.folder}"))


def _state(unit: Unit) -> str:
    """What is stored of a unit, as text."""
    stored = unit.stored()
    if stored is None:
        return "missing"
    return "there" if stored.status == "complete" else stored.status


def heading(item: Item) -> Text:
    """Paper, name and title of an item."""
    return Text.assemble((f"{PAPERS[item.paper]} {item.name}", "bold"), f"  {item.title}")
