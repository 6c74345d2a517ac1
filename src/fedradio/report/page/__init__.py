"""The HTML page of a run or a sweep: one self-contained file that opens without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fedradio.core.progress import Progress, silent, unheard
from fedradio.report.charts.chart import Chart, Group
from fedradio.report.charts.energy import energy_of_rounds
from fedradio.report.charts.participation import participation
from fedradio.report.charts.spread import spread
from fedradio.report.page.chart import charts, energy_section, learning_section, switch
from fedradio.report.page.document import document
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import spec_yaml
from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.cache import cache
from fedradio.report.page.sections.federation import federation
from fedradio.report.page.sections.headline import badge, headline, warning
from fedradio.report.page.sections.network import network
from fedradio.report.page.sections.notes import notes
from fedradio.report.page.sections.rerun import environment, place, reproduce, spec_text
from fedradio.report.page.sections.settings import settings
from fedradio.report.page.sections.sweep import sweep_page
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.report.style import style
from fedradio.results.quantities import entry
from fedradio.results.run import Run, open_run
from fedradio.results.sweep_file import is_sweep
from fedradio.spec.spec import COMPOSED

__all__ = ["page", "run_page", "sweep_page"]

Maker = Callable[[], Html]
"""Makes a section of a page."""


def page(
    folder: Path,
    progress: Progress = silent,
    note: Callable[[str], None] = unheard,
    beside: Path | None = None,
    live: Html | None = None,
) -> str:
    """The page of a run folder or a sweep; damaged runs are marked and reported to ``note``.

    A sweep's page links to the pages of its runs, if they exist, relative to the folder ``beside`` (default: the
    sweep's). ``live`` is the status line at the top of a served page while the run is in progress.
    """
    if is_sweep(folder):
        data = read_sweep_data(folder, progress, beside)
        for damaged in data.damaged():
            note(f"{damaged.trouble}: {damaged.folder}")
        return sweep_page(data if live is None else data.without_links(), live)
    run = open_run(folder)
    if run.damage:
        note(f"{run.trouble}: {run.folder}")
    return run_page(run, progress, live)


def run_page(run: Run, progress: Progress = silent, live: Html | None = None) -> str:
    """The page of a run."""
    data = RunData(run)
    progress("Records", 0.0)
    alone = [Group(run.name, style(run.algorithm), [run.digest])]
    makers: dict[str, tuple[str, Callable[[], Html]]] = {
        "headline": ("Summary", lambda: section("headline", "Summary", warning(data, place(run)), headline(data))),
        "learning": ("Learning", lambda: learning_section(alone)),
        "cache": ("Cache", lambda: cache(data)),
        "network": ("Network", lambda: network(data)),
        "participation": (
            "Participation",
            lambda: section("participation", "Participation", *charts(participation(data.states), wide=True)),
        ),
        "energy": ("Energy", lambda: energy_section(alone, energy_of_rounds(run.rounds))),
        "spread": ("Clients' accuracies", lambda: _spread(alone)),
        "notes": ("Further records", lambda: notes(data)),
        "settings": ("Settings", lambda: settings(run.spec.plain, run.description)),
        "reproduce": ("Reproduce", lambda: reproduce(run)),
        "spec": ("Spec", lambda: spec_text(spec_yaml(run.spec.plain), COMPOSED in run.spec.plain)),
        "environment": ("Environment", lambda: environment(run)),
    }
    if data.exchanges.devices:
        makers = _before("spread", "federation", ("Federation", lambda: federation(data)), makers)
    sections: dict[str, tuple[str, Html]] = {}
    for number, (identity, (title, make)) in enumerate(makers.items()):
        progress(title, number / len(makers))
        sections[identity] = title, make()
    return document(f"{_title(run)} - fedradio", [_header(run)], sections, live=live)


def _spread(alone: Sequence[Group]) -> Html:
    found = spread(alone)
    names = alone[0].runs[0].client_metrics
    options = {name: entry(name).title for name in names}
    drawn = [f"{one.name}-chart" for one in found if isinstance(one, Chart)]
    return section("spread", "Clients' accuracies", switch("spread-of", "Accuracy of", options, drawn), *charts(found))


def _before(place: str, name: str, made: tuple[str, Maker], makers: dict[str, tuple[str, Maker]]) -> dict[str, Any]:
    """The section makers with one more, inserted before another."""
    names = list(makers)
    names.insert(names.index(place), name)
    return {each: made if each == name else makers[each] for each in names}


def _title(run: Run) -> str:
    world = "" if run.spec.plain.get("world_seed") is None else f", world {run.spec.world_seed}"
    return f"{run.spec.name}, seed {run.spec.seed}{world}"


def _header(run: Run) -> Html:
    return tag(
        "div",
        paragraph("fedradio run", class_="kind"),
        tag("div", tag("h1", _title(run)), badge(run.status), class_="title"),
        paragraph(str(run.spec.plain["about"]), class_="about"),
    )
