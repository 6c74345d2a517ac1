"""Runs as one or two lines of text, and as a small table for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedradio.core.contracts.records import main_score
from fedradio.core.text import harmless, short_path
from fedradio.results.quantities import QUANTITIES, of_runs

if TYPE_CHECKING:
    from fedradio.results.run import Run

HEADLINE = ("accuracy", "rmse", "seconds", "joules", "bits")
"""Quantities in the line of a run; those that are undefined are left out."""


SCORE_WORDS = {"accuracy": "accuracy", "rmse": "RMSE"}
"""Main scores in words."""


def run_text(run: Run) -> str:
    """A run in two lines: name, seed, status and headline, all from its summary; and its folder."""
    summary = run.summary or {}
    told = {name: summary.get(QUANTITIES[name].field) for name in HEADLINE}
    known = {name: QUANTITIES[name].text(value) for name, value in told.items() if value is not None}
    numbers = [f"{SCORE_WORDS[name]} {text}" if name in SCORE_WORDS else text for name, text in known.items()]
    rounds = f"{run.status}, {summary['rounds']} of {run.spec.rounds} rounds" if summary else run.status
    return harmless(f"Run {run.name}, seed {run.seed}: {', '.join([rounds, *numbers])}\n  in {short_path(run.folder)}")


def score_text(metrics: Mapping[str, float]) -> str:
    """The main score of an evaluation with its name; empty if there is none."""
    name = main_score(metrics)
    return f"{SCORE_WORDS[name]} {QUANTITIES[name].text(metrics[name])}" if name in metrics else ""


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
