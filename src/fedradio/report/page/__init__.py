"""The HTML page of a run or a sweep: one self-contained file that opens without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fedradio.core.progress import Progress, silent, unheard
from fedradio.report.charts.chart import Absent, Chart, Group
from fedradio.report.charts.notes import notes
from fedradio.report.charts.run_charts import energy_charts, map_chart, participation_charts
from fedradio.report.charts.spread import spread
from fedradio.report.page.chart import chart_section
from fedradio.report.page.document import Refresh, document
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import spec_yaml
from fedradio.report.page.sections.cache import cache
from fedradio.report.page.sections.federation import federation
from fedradio.report.page.sections.headline import badge, headline, warning
from fedradio.report.page.sections.learning import learning_section
from fedradio.report.page.sections.rerun import environment, place, reproduce, spec_text
from fedradio.report.page.sections.sweep import sweep_page
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.report.style import style
from fedradio.results.run import Run, open_run
from fedradio.results.sweep_file import is_sweep
from fedradio.spec.spec import COMPOSED

__all__ = ["page", "run_page", "sweep_page"]

Charts = Callable[[], Sequence[Chart | Absent]]
"""Makes the charts of a section."""


def page(
    folder: Path,
    progress: Progress = silent,
    note: Callable[[str], None] = unheard,
    beside: Path | None = None,
    refresh: Refresh | None = None,
) -> str:
    """The page of a run folder or a sweep; damaged runs are marked and reported to ``note``.

    A sweep's page links to the pages of its runs, if they exist, relative to the folder ``beside`` (default: the
    sweep's). With ``refresh`` the page reloads itself and says whether the run is in progress.
    """
    if is_sweep(folder):
        data = read_sweep_data(folder, progress, beside)
        for damaged in data.damaged():
            note(f"{damaged.trouble}: {damaged.folder}")
        return sweep_page(data, refresh)
    run = open_run(folder)
    if run.damage:
        note(f"{run.trouble}: {run.folder}")
    return run_page(run, progress, refresh)


def run_page(run: Run, progress: Progress = silent, refresh: Refresh | None = None) -> str:
    """The page of a run; with ``refresh`` it reloads itself."""
    progress("Records", 0.0)
    sections: dict[str, tuple[str, Html]] = {}
    makers = _sections(run)
    for number, (identity, title, make) in enumerate(makers):
        progress(title, number / len(makers))
        sections[identity] = title, make()
    return document(f"{_title(run)} - fedradio", [_header(run)], sections, refresh=refresh)


def _sections(run: Run) -> list[tuple[str, str, Callable[[], Html]]]:
    """The sections of a run's page: identifier, title, and what makes it."""
    alone = [Group(run.name, style(run.algorithm), [run.digest])]
    plain = run.spec.plain

    def of_charts(identity: str, title: str, make: Charts, wide: bool = False) -> tuple[str, str, Callable[[], Html]]:
        return identity, title, lambda: chart_section(identity, title, make(), wide=wide)

    summary = "Summary"
    sections = [
        ("headline", summary, lambda: section("headline", summary, warning(run, place(run)), headline(run))),
        ("learning", "Learning", lambda: learning_section(alone)),
        ("cache", "Cache", lambda: cache(run)),
        of_charts("network", "Network", lambda: [map_chart(run)], wide=True),
        of_charts("participation", "Participation", lambda: participation_charts(run), wide=True),
        of_charts("energy", "Energy", lambda: energy_charts(alone, run)),
    ]
    if run.digest.devices:
        sections.append(("federation", "Federation", lambda: federation(run)))
    return [
        *sections,
        of_charts("spread", "Clients' scores", lambda: spread(alone)),
        of_charts("notes", "Further records", lambda: [notes(run)], wide=True),
        ("reproduce", "Reproduce", lambda: reproduce(run)),
        ("spec", "Spec", lambda: spec_text(spec_yaml(plain), COMPOSED in plain)),
        ("environment", "Environment", lambda: environment(run)),
    ]


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
