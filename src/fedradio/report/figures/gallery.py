"""The figures of some runs: which can be drawn, why others cannot, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress, silent
from fedradio.report.charts.chart import Absent, Chart, Group
from fedradio.report.charts.costs import costs
from fedradio.report.charts.energy import WHY, energy, energy_of_rounds, with_total
from fedradio.report.charts.learning import learning, mean_curve
from fedradio.report.charts.participation import participation
from fedradio.report.charts.spread import ONE_TEST_SET, spread
from fedradio.report.figures.axes import printed, save
from fedradio.report.figures.draw import draw
from fedradio.report.figures.run import network_figure
from fedradio.report.lengths import length_unit
from fedradio.report.style import Style, styles
from fedradio.results.quantities import QUANTITIES, axes
from fedradio.results.run import Run
from fedradio.results.variants import Variant

FORMATS = ("pdf", "png")
DPI = 300
"""Resolution of PNG files, and of images inside PDF files."""


@dataclass(frozen=True)
class Drawing:
    """A figure that can be made or not (``make`` is None); ``why`` is the reason, or names the variants left out."""

    name: str
    make: Callable[[], Figure] | None
    why: str = ""


def drawings(variants: Sequence[Variant]) -> list[Drawing]:
    """All figures of these variants, including those of a single run if there is just one."""
    shared = [
        *curve_drawings(variants, "accuracy"),
        *curve_drawings(variants, "loss", against=("rounds",)),
    ]
    runs = [run for variant in variants for run in variant.runs.values()]
    groups = groups_of(variants)
    alone = "it shows a single run; name one run folder"
    network = _map(runs[0]) if len(runs) == 1 else Drawing("network", None, alone)
    return [*shared, *_charts(groups, runs), network]


def curve_drawings(
    variants: Sequence[Variant],
    metric: str,
    against: Iterable[str] | None = None,
    target: float | None = None,
) -> list[Drawing]:
    """Figures of a metric against costs: by default rounds, seconds, joules and all other axes."""
    groups, runs = groups_of(variants), [run for variant in variants for run in variant.runs.values()]
    chart = learning(groups, metric, against, target, runs)
    plots = chart.plots if isinstance(chart, Chart) else {}
    found = []
    for quantity in axes() if against is None else [QUANTITIES[name] for name in against]:
        if against is None and quantity.name not in plots and not quantity.absent:
            continue
        known = [group.label for group in groups if mean_curve(group, metric, quantity.name) is not None]
        lacking = f"{metric} is not measured" if quantity.name == "rounds" else f"{quantity.name} are undefined"
        why = _without(variants, known, lacking if any(run.rounds for run in runs) else "no round is recorded")
        make = partial(draw, plots[quantity.name]) if quantity.name in plots else None
        found.append(Drawing(f"{metric}-{quantity.name}", make, why))
    return found


def groups_of(variants: Sequence[Variant]) -> list[Group]:
    """The variants as lines of charts."""
    looks = looks_of(variants)
    return [Group(each.label, looks[each.label], [run.digest for run in each.runs.values()]) for each in variants]


def looks_of(variants: Sequence[Variant]) -> dict[str, Style]:
    """The style of every variant by its label."""
    return {variant.label: look for variant, look in zip(variants, styles(variants), strict=True)}


def write(
    drawings: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    progress: Progress = silent,
) -> list[Path]:
    """Draw the figures that can be drawn, in every format; returns their files."""
    files = []
    able = [(drawing.name, drawing.make) for drawing in drawings if drawing.make is not None]
    for number, (name, make) in enumerate(able):
        progress(f"drawing {name}", number / len(able))
        figure = make()
        for suffix in formats:
            file = folder / f"{name}.{suffix}"
            try:
                with printed():
                    save(figure, file, DPI)
            except OSError as error:
                raise StoreError(f"cannot write {file}: {error.strerror or error}") from None
            files.append(file)
    return files


def _charts(groups: Sequence[Group], runs: Sequence[Run]) -> list[Drawing]:
    """The charts of runs, each view a figure; those of clients and rounds only for a single run."""
    found = [*energy(groups), *spread(groups), *(costs(groups) if len(groups) > 1 else [])]
    if len(runs) == 1:
        parents = runs[0].network.get("parents", [None])[0]
        found += [energy_of_rounds(runs[0].rounds), *participation(runs[0].digest.states, parents)]
    else:
        names = ("energy-rounds", "selection", "reasons")
        found += [Absent(name, "", "it shows a single run; name one run folder") for name in names]
    return [drawing for chart in found for drawing in _views(chart, groups)]


def _views(chart: Chart | Absent, groups: Sequence[Group]) -> list[Drawing]:
    if isinstance(chart, Absent):
        return [Drawing(chart.name, None, chart.why)]
    views = {
        f"{chart.name}-{view}" if place and view else chart.name: plot
        for place, (view, plot) in enumerate(chart.plots.items())
    }
    return [Drawing(name, partial(draw, plot), _left_out(chart, groups)) for name, plot in views.items()]


NEEDS = {"energy": ("joules", WHY), "spread": ("client_metrics", ONE_TEST_SET)}
"""What charts of this name need of a run, and what it means if a run lacks it."""


def _left_out(chart: Chart, groups: Sequence[Group]) -> str:
    """The groups that a chart leaves out."""
    field, why = NEEDS.get(chart.name.partition("-")[0], ("series", ""))
    known = [group.label for group in groups if all(getattr(run, field) for run in group.runs)]
    lacking = [group.label for group in groups if group.label not in known]
    return f"without {'; '.join(lacking)}: {why}" if lacking else ""


def _map(run: Run) -> Drawing:
    """The map of a single run."""
    states, joules = run.digest.states, run.digest.joules
    why = _network_lack(run) if states.edge_rounds else "no edge round is recorded"
    total = next(iter(with_total({kind: each.clients for kind, each in joules.items()}).values())) if joules else None
    make = partial(network_figure, run.network, states.shares(), total, length_unit(run.spec)) if not why else None
    return Drawing("network", make, why)


def _network_lack(run: Run) -> str:
    """The reason why there is no map."""
    if not run.network:
        return "the run folder has no network.json, because an older version made it"
    if len(run.network["positions"][0]) == 1:
        return "there is only one client"
    return ""


def _without(variants: Sequence[Variant], known: Sequence[str], reason: str) -> str:
    """The reason why variants are left out, with their labels unless it applies to all."""
    lacking = [variant.label for variant in variants if variant.label not in known]
    if not lacking:
        return ""
    return reason if not known else f"without {'; '.join(lacking)}: {reason}"
