"""The figures of some runs: which can be drawn, why others cannot, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress, silent
from fedradio.report.charts.chart import Absent, Chart, Group
from fedradio.report.charts.costs import costs
from fedradio.report.charts.differences import differences
from fedradio.report.charts.energy import WHY, energy
from fedradio.report.charts.learning import learning, mean_curve
from fedradio.report.charts.notes import notes
from fedradio.report.charts.run_charts import cache_charts, energy_charts, map_chart, participation_charts
from fedradio.report.charts.spread import ONE_TEST_SET, spread
from fedradio.report.figures.axes import printed, save_figure
from fedradio.report.figures.draw import draw
from fedradio.report.style import Style, styles
from fedradio.results.compare import main_metric, numbers_of
from fedradio.results.quantities import QUANTITIES, axes
from fedradio.results.variants import Variant

DPI = 300
"""Resolution of PNG files, and of images inside PDF files."""

ALONE = "it shows a single run; name one run folder"
"""Why a figure of a single run is not drawn for several."""


Names = Mapping[str, str]
"""Names in the legend in place of labels; formulas between dollar signs are typeset."""

NO_NAMES: Names = {}


@dataclass(frozen=True)
class Drawing:
    """A figure that can be made or not (``make`` is None); ``why`` is the reason, or names the variants left out.

    A figure that is not ``usual`` is drawn only if it is named.
    """

    name: str
    make: Callable[[], Figure] | None
    why: str = ""
    usual: bool = True


def drawings(variants: Sequence[Variant], names: Names = NO_NAMES) -> list[Drawing]:
    """All figures of these variants, including those of a single run if there is just one."""
    runs, groups = [run for variant in variants for run in variant.runs.values()], groups_of(variants)
    found = [
        *curve_drawings(variants, main_metric(runs), names=names),
        *curve_drawings(variants, "loss", against=("rounds",), names=names),
    ]
    if len(runs) == 1:
        charts = [*energy_charts(groups, runs[0]), *spread(groups), *participation_charts(runs[0]), map_chart(runs[0])]
        found += [each for chart in [*charts, *cache_charts(runs[0])] for each in _views(chart, groups, names)]
        return found + _views(notes(runs[0]), groups, names, usual=False)
    charts = [*energy(groups), *spread(groups), *(costs(groups) if len(groups) > 1 else [])]
    charts += [_differences(variants)] if len(variants) > 1 else []
    charts += [Absent(name, "", ALONE) for name in ("energy-rounds", "selection", "reasons", "network")]
    return found + [each for chart in charts for each in _views(chart, groups, names)]


def curve_drawings(
    variants: Sequence[Variant],
    metric: str,
    against: Iterable[str] | None = None,
    target: float | None = None,
    only: bool = False,
    names: Names = NO_NAMES,
) -> list[Drawing]:
    """Figures of a metric against costs: by default rounds, seconds, joules and all other axes.

    Those of a single run also show related metrics, unless ``only`` this one is wanted.
    """
    groups, runs = groups_of(variants), [run for variant in variants for run in variant.runs.values()]
    chart = learning(groups, metric, against, target, runs, only)
    plots = chart.plots if isinstance(chart, Chart) else {}
    found = []
    for quantity in axes() if against is None else [QUANTITIES[name] for name in against]:
        if against is None and quantity.name not in plots and not quantity.absent:
            continue
        known = [group.label for group in groups if mean_curve(group, metric, quantity.name) is not None]
        lacking = f"{metric} is not measured" if quantity.name == "rounds" else f"{quantity.name} are undefined"
        why = _without(variants, known, lacking if any(run.rounds for run in runs) else "no round is recorded")
        make = partial(draw, plots[quantity.name], names) if quantity.name in plots else None
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
                    save_figure(figure, file, DPI)
            except OSError as error:
                raise StoreError(f"cannot write {file}: {error.strerror or error}") from None
            files.append(file)
    return files


def _views(chart: Chart | Absent, groups: Sequence[Group], names: Names, usual: bool = True) -> list[Drawing]:
    """A figure for every view of a chart."""
    if isinstance(chart, Absent):
        return [Drawing(chart.name, None, chart.why, usual)]
    why = _left_out(chart, groups)
    return [
        Drawing(f"{chart.name}-{view}" if view else chart.name, partial(draw, plot, names), why, usual)
        for view, plot in chart.plots.items()
    ]


def _differences(variants: Sequence[Variant]) -> Chart | Absent:
    """Paired differences in the main score from the first variant."""
    looks, first = looks_of(variants), numbers_of(variants[0].runs)
    name = main_metric(run for variant in variants for run in variant.runs.values())
    pairs = [(one.label, looks[one.label], numbers_of(one.runs).difference(first, name)) for one in variants[1:]]
    return differences(pairs, name)


NEEDS = {"energy": ("joules", WHY), "spread": ("client_metrics", ONE_TEST_SET)}
"""What charts of this name need of a run, and what it means if a run lacks it."""


def _left_out(chart: Chart, groups: Sequence[Group]) -> str:
    """The groups that a chart leaves out."""
    field, why = NEEDS.get(chart.name.partition("-")[0], ("series", ""))
    known = [group.label for group in groups if all(getattr(run, field) for run in group.runs)]
    lacking = [group.label for group in groups if group.label not in known]
    return f"without {'; '.join(lacking)}: {why}" if lacking else ""


def _without(variants: Sequence[Variant], known: Sequence[str], reason: str) -> str:
    """The reason why variants are left out, with their labels unless it applies to all."""
    lacking = [variant.label for variant in variants if variant.label not in known]
    if not lacking:
        return ""
    return reason if not known else f"without {'; '.join(lacking)}: {reason}"
