"""Runs as one or two lines of text, and as a small table for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedradio.core.text import harmless, short_path
from fedradio.results.quantities import QUANTITIES, of_runs

if TYPE_CHECKING:
    from fedradio.results.run import Run

HEADLINE = ("accuracy", "seconds", "joules", "bits")
"""Quantities in the line of a run; those that are undefined are left out."""


def run_text(run: Run) -> str:
    """A run in two lines: name, seed, status and headline, all from its summary; and its folder."""
    summary = run.summary or {}
    told = {name: summary.get(QUANTITIES[name].field) for name in HEADLINE}
    numbers = [QUANTITIES[name].text(value) for name, value in told.items() if value is not None]
    numbers[:1] = [f"accuracy {text}" for text in numbers[:1]] if told["accuracy"] is not None else numbers[:1]
    rounds = f"{run.status}, {summary['rounds']} of {run.spec.rounds} rounds" if summary else run.status
    return harmless(f"Run {run.name}, seed {run.seed}: {', '.join([rounds, *numbers])}\n  in {short_path(run.folder)}")


def run_html(run: Run) -> str:
    """A run as a small table: its quantities as the terminal shows them."""
    summary = run.summary or {}
    rows = {each.heading: each.text(summary[each.field]) for each in of_runs() if summary.get(each.field) is not None}
    return html_table(run_text(run), ("", ""), list(rows.items()))


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of arbitrary texts, with a caption of one or more lines."""

    def cells(texts: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}>{html.escape(harmless(text))}</{tag}>" for text in texts)

    lines = "<br>".join(html.escape(line.strip()) for line in harmless(title).splitlines())
    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>" if any(header) else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><caption style='text-align:left'>{lines}</caption>{head}<tbody>{body}</tbody></table>"
