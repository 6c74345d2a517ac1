"""Published tables and figures made again: ours beside the paper's numbers, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from fedradio.core.units import show_seconds
from fedradio.papers.collect import Compared, Found, Result
from fedradio.papers.items import Column
from fedradio.papers.plan import Reproduction, Unit
from fedradio.papers.published import PAPERS
from fedradio.report.terminal.reproducible import count, heading, plain_table, rough

HEADER = ("", "quantity", "paper", "ours", "95 % interval", "difference", "")
"""Of the table of numbers; ``±`` is the standard deviation, over seeds or as published."""

ALWAYS = ("quantity", "ours")
"""Columns that are shown even where they say nothing; one seed has no interval, some figures no published numbers."""

MADE = ("run or study", "seeds", "wall time")

PLAIN_HEADER = ("", "ours")
"""Of items without numbers to compare."""


@dataclass
class Notes:
    """Footnotes in the order of their first use, each once."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        """Its number in brackets."""
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


@dataclass(frozen=True)
class Written:
    """A result in words: the table's header and rows, footnotes, the verdict, what was run."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: list[str]
    verdict: str
    made: list[tuple[str, ...]]


def write_up(result: Result) -> Written:
    """The words of a result; the terminal and the Markdown file say the same."""
    notes = Notes()
    rows: list[tuple[str, ...]] = []
    for found, entries in zip(result.found, result.entries, strict=True):
        if not entries:
            rows.append((found.label, _presence(found, result.plan, notes)))
        for number, key in enumerate(key for key in entries if result.item.wants(found.line.row, key)):
            label = found.label if number == 0 else ""
            rows.append((label, *_entry_words(entries[key], found, result.plan, notes)))
    header: tuple[str, ...] = HEADER if result.item.columns else PLAIN_HEADER
    said = [n for n, title in enumerate(header) if title in ALWAYS or any(row[n] not in ("", "-") for row in rows)]
    shown = [tuple(row[n] for n in said) for row in rows]
    return Written(tuple(header[n] for n in said), shown, notes.texts, _verdict(result), _made(result))


def _entry_words(entry: Compared, found: Found, plan: Reproduction, notes: Notes) -> tuple[str, ...]:
    column = entry.column
    quantity = f"{column.title} [{column.unit}]" if column.unit else column.title
    if entry.note:
        quantity += f" {notes.mark(entry.note)}"
    paper = _with_deviation(column, *entry.published) if entry.published else "-"
    ours = entry.ours
    if ours is None:
        why = _absence(found, plan, list(entry.lost.values()), notes)
        return quantity, paper, why, "-", "-", ""
    text = _with_deviation(column, ours.mean, entry.deviation)
    if entry.lost:
        lost = "; ".join(f"seed {seed}: {why}" for seed, why in entry.lost.items())
        text += f", {len(entry.values)} of {len(plan.seeds)} seeds {notes.mark(lost)}"
    ends = [_number(column, end) for end in (ours.low, ours.high) if end is not None]
    return quantity, paper, text, " to ".join(ends) or "-", _difference(entry), "!" if entry.agrees is False else ""


def _absence(found: Found, plan: Reproduction, reasons: Sequence[str], notes: Notes) -> str:
    """Why there is no number, short; the whole of it is a footnote."""
    if found.line.source.skip:
        return f"not run at {plan.scale} {notes.mark(found.line.source.skip)}"
    if not reasons:
        return "-"
    word, _, rest = reasons[0].partition(": ")
    return reasons[0] if word == "no data" or not rest else f"{word} {notes.mark(reasons[0])}"


def _presence(found: Found, plan: Reproduction, notes: Notes) -> str:
    """Of a row without numbers: how many seeds it is drawn from, or why there are none."""
    if found.line.source.skip or not (found.runs or any(found.studies.values())):
        return _absence(found, plan, list(found.lost.values()), notes)
    seeds = {seed for kept in (found.runs, *found.studies.values()) for seed in kept}
    lost = "; ".join(dict.fromkeys(found.lost.values()))
    return f"{count(len(seeds), 'seed')}" + (f" of {len(plan.seeds)} {notes.mark(lost)}" if lost else "")


def _with_deviation(column: Column, value: float, deviation: float | None = None) -> str:
    return _number(column, value) + ("" if deviation is None else f" ± {_number(column, deviation)}")


def _number(column: Column, value: float) -> str:
    return f"{value:.{column.digits}f}"


def _difference(entry: Compared) -> str:
    if entry.difference is None or entry.published is None:
        return "-"
    text = f"{entry.difference:+.{entry.column.digits}f}"
    if entry.column.within_share is None or entry.published[0] == 0:
        return text
    return f"{text} ({100 * entry.difference / abs(entry.published[0]):+.0f} %)"


def _verdict(result: Result) -> str:
    """How many published numbers were met, and what that means."""
    compared = result.compared
    missing = sum(
        entry.published is not None and entry.agrees is None for row in result.entries for entry in row.values()
    )
    if not compared and not missing:
        return "no published numbers to compare with"
    if not compared:
        return f"none of {count(missing, 'published number')} can be compared"
    agree = sum(bool(entry.agrees) for entry in compared)
    widths = {f"{column.title} {_width(column)}": None for column in result.item.columns.values() if _width(column)}
    others = ", ! marks the others" if agree < len(compared) else ""
    text = f"{agree} of {len(compared)} published numbers agree{others} ({', '.join(widths)})"
    return text + (f"; {missing} more cannot be compared" if missing else "")


def _width(column: Column) -> str:
    """How far apart agreeing numbers may be."""
    known = [] if column.within is None else [f"{column.within:g} {column.unit}".rstrip()]
    known += [] if column.within_share is None else [f"{100 * column.within_share:g} %"]
    return f"within {' or '.join(known)}" if known else ""


def _made(result: Result) -> list[tuple[str, ...]]:
    """One line a spec or study: overrides, seeds, wall time."""
    groups: dict[str, list[Unit]] = {}
    for unit in result.plan.units:
        if unit.stored() is not None:
            groups.setdefault(unit.label.removesuffix(f" seed {unit.seed}"), []).append(unit)
    rows: list[tuple[str, ...]] = []
    for label, units in groups.items():
        walls = [stored.wall_s for unit in units if (stored := unit.stored())]
        rows.append((label, _seeds([unit.seed for unit in units]), show_seconds(sum(walls))))
    return rows


def _seeds(seeds: Sequence[int]) -> str:
    whole = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def result_view(result: Result, files: Sequence[Path]) -> Group:
    """A result for the terminal, with the files that it was written to."""
    item, plan = result.item, result.plan
    words = write_up(result)
    table = plain_table(words.header)
    for row in words.rows:
        table.add_row(*(Text(one, style="bold red" if one == "!" else "") for one in row))
    made = plain_table(MADE)
    for row in words.made:
        made.add_row(*map(Text, row))
    wall = f"wall time in all {show_seconds(result.wall_s)}"
    lines: list[RenderableType] = [
        heading(item),
        Text(f"published: {item.source}"),
        Text(f"ours: {plan.scale} scale, {count(len(plan.seeds), 'seed')}; {item.size(plan.scale).about}"),
        Text(),
        table,
        Text(),
        *(Text(f"({number}) {note}") for number, note in enumerate(words.notes, start=1)),
        *(Text(f"- {note}") for note in item.footnotes),
        Text(words.verdict),
        Text(),
        *((made, Text(wall)) if words.made else (Text(_nothing(plan)),)),
        *(Text(f"written: {file}") for file in files),
    ]
    return Group(*lines)


def result_markdown(result: Result, pictures: Sequence[Path]) -> str:
    """The same as a Markdown page; pictures stand beside it."""
    item, plan = result.item, result.plan
    words = write_up(result)
    parts = [
        f"# {PAPERS[item.paper]} {item.name}: {item.title}",
        f"Published: {item.source}",
        f"Ours: {plan.scale} scale, {count(len(plan.seeds), 'seed')}; {item.size(plan.scale).about}",
        *(f"![{item.title}]({path.name})" for path in pictures if path.suffix == ".png"),
        _markdown_table(words.header, words.rows),
        "\n".join(f"({number}) {note}  " for number, note in enumerate(words.notes, start=1)),
        "\n".join(f"- {note}" for note in item.footnotes),
        words.verdict,
        _markdown_table(MADE, words.made),
        f"Wall time in all {show_seconds(result.wall_s)}." if words.made else _nothing(plan),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _nothing(plan: Reproduction) -> str:
    """What to do where nothing was run."""
    item = plan.item
    if plan.units or plan.scale == "paper" or not any(row.paper.spec for row in item.rows):
        return "nothing was run"
    time = rough(60 * item.size("paper").minutes)
    return f"nothing is run at quick scale; fedradio reproduce {item.paper} {item.name} --scale paper takes {time}"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines)
