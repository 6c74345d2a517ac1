"""Learning curves: a metric of all groups, or the metrics of one, against rounds, simulated time, energy and bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fedradio.report.charts.chart import Absent, Axis, Chart, Group, Level, Line, Plot, capital
from fedradio.report.style import DASH_DOT, DOT, LONG, SHORT, Style
from fedradio.report.table import LazyRows, Table
from fedradio.results.quantities import QUANTITIES, axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.run import Run
from fedradio.results.statistics import Band, band

TOPS = tuple(f"top_{m}_accuracy" for m in (2, 3, 5, 10, 20, 50, 100))
"""Top-m accuracies that are drawn as lines."""

COLOURS = ("@orange", "@green", "@purple", "@red", "@yellow", "@sky", "@blue")
DASHES = (SHORT, DASH_DOT, LONG, DOT)
"""Colours and dashes of the lines after the first."""

UNLIKE = 20.0
"""Ratio of the largest to the smallest cost above which an axis is logarithmic."""


def related(metric: str, names: Sequence[str]) -> list[str]:
    """The metrics that share an axis with one: other accuracies and their references, other losses."""
    if metric == "accuracy":
        lines = [name for name in names if name.endswith("accuracy")]
        lines = sorted(
            (name for name in lines if not name.startswith("top_") or name in TOPS), key=lambda name: name != metric
        )
        return [*lines, *(name for name in names if entry(name).reference)]
    return [name for name in names if name.endswith("loss")] if metric == "loss" else [metric]


def main_of(groups: Sequence[Group]) -> str:
    """The main score of runs: ``rmse`` if all have it, else ``accuracy``."""
    runs = [run for group in groups for run in group.runs]
    return "rmse" if runs and all("rmse" in run.series for run in runs) else "accuracy"


def other_metrics(names: Sequence[str]) -> list[str]:
    """The metrics that are neither accuracies, losses nor references, each with its own axis."""
    return [name for name in names if not name.endswith(("accuracy", "loss", "rmse")) and not entry(name).reference]


def learning(
    groups: Sequence[Group],
    metric: str,
    against: Iterable[str] | None = None,
    target: float | None = None,
    runs: Iterable[Run] = (),
    only: bool = False,
) -> Chart | Absent:
    """The curves of a metric, one view per axis: means over the runs of a group, with their intervals.

    The chart of a single run also has the :func:`related` metrics, unless ``only`` this one is wanted.
    """
    measured = entry(metric, runs)
    alone = len(groups) == 1 and len(groups[0].runs) == 1 and metric in groups[0].runs[0].series
    names = related(metric, list(groups[0].runs[0].series)) if alone and not only else [metric]
    plots = {}
    for axis in axes() if against is None else [QUANTITIES[name] for name in against]:
        lines = list(_lines(groups, names, axis.name, measured.scale))
        if lines:
            level = [] if target is None else [Level("", measured.scale * target, "@soft", DOT)]
            plots[axis.name] = Plot(_x(axis, lines), _y(measured, lines), [*lines, *level], axis.title)
    if not plots:
        return Absent(metric, measured.heading, f"{metric} is not measured")
    height = 290 + 20 * max(len(plot.layers) for plot in plots.values())
    numbers = _numbers(groups, names)
    return Chart(metric, measured.heading, _says(groups, names), plots, numbers, "Plot against", height)


def mean_curve(group: Group, metric: str, against: str) -> Band | None:
    """The mean curve of a group; None unless all of its runs define it."""
    curves = [curve for run in group.runs if (curve := run.curve(metric, against)) is not None]
    return band(curves) if curves and len(curves) == len(group.runs) else None


def _lines(groups: Sequence[Group], names: Sequence[str], against: str, scale: float) -> Iterator[Line]:
    looks = [(group.label, group.style, group, names[0]) for group in groups]
    if len(names) > 1:
        looks = [
            (entry(name).title, _look(groups[0].style, place, name), groups[0], name)
            for place, name in enumerate(names)
        ]
    for label, style, group, name in looks:
        if (mean := mean_curve(group, name, against)) is not None:
            several = mean.n > 1
            low, high = (scale * mean.low, scale * mean.high) if several else (None, None)
            yield Line(label, mean.x, scale * mean.mean, style, low, high)


def _look(first: Style, place: int, name: str) -> Style:
    """The style of a metric: the group's own for the first, others for the rest; references are dotted."""
    if entry(name).reference:
        return Style("@soft", DOT, "")
    marker = "" if name == "train_loss" else first.marker
    return (
        first if place == 0 else Style(COLOURS[(place - 1) % len(COLOURS)], DASHES[(place - 1) % len(DASHES)], marker)
    )


def _x(cost: Quantity, lines: Sequence[Line]) -> Axis:
    """The axis of a cost: logarithmic if the lines end at very different amounts."""
    log = (
        cost.name != "rounds" and unlike([float(line.x[-1]) for line in lines]) and min(line.x[0] for line in lines) > 0
    )
    rounds = cost.name == "rounds"
    return Axis(title_of(cost), cost.unit, log=log, whole=rounds, zero=not log and not rounds)


def fitted(
    metric: Quantity, values: Sequence[float], bands: Sequence[float] = (), room: float = 0.25
) -> tuple[float, float]:
    """Limits that fit the values, and the bands unless these would flatten them; ``room`` is added on either side.

    Shares stay between 0 and 100 %. Wide intervals of few seeds reach beyond the axis.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    floor = 0.0 if low >= 0 else -float("inf")
    if high == low:
        low, high = low - max(abs(low), 1.0) / 10, high + max(abs(high), 1.0) / 10
    span = high - low
    least = max(min([low, *bands]), low - room * span) - span / 20
    most = min(max([high, *bands]), high + room * span) + span / 20
    return max(least, floor), min(most, 100.5) if metric.format == "percent" else most


def _y(metric: Quantity, lines: Sequence[Line]) -> Axis:
    ends = [float(end) for line in lines for end in (line.y.min(), line.y.max())]
    edges = [edge for line in lines for edge in (line.low, line.high) if edge is not None]
    bands = [float(end) for edge in edges for end in (edge.min(), edge.max())]
    return Axis(title_of(metric), metric.unit, *fitted(metric, ends, bands))


def title_of(quantity: Quantity) -> str:
    """The title of an axis, with a capital letter."""
    return capital(quantity.long or quantity.title)


def unlike(amounts: Sequence[float]) -> bool:
    """Whether amounts differ so much in size that a linear axis would squeeze the small ones."""
    return bool(amounts) and min(amounts) > 0 and max(amounts) > UNLIKE * min(amounts)


def _says(groups: Sequence[Group], names: Sequence[str]) -> str:
    """Where the curves lead, or what bands mean."""
    if len(groups) > 1 or len(groups[0].runs) > 1:
        return "Means over seeds; bands are 95 % confidence intervals."
    run = groups[0].runs[0]
    lasts = {name: float(run.series[name][1][-1]) for name in names}
    references = {name: value for name, value in lasts.items() if entry(name).reference}
    at, values = run.series[names[0]]
    first, last = (f"{entry(names[0]).text(float(values[i]))} after round {at[i] + 1}" for i in (0, -1))
    text = f"{entry(names[0]).heading} " + (f"goes from {first} to {last}" if len(values) > 1 else f"is {last}")
    if len(values) > 1 and entry(names[0]).better == "more":
        best = int(values.argmax())
        text += f"; the best is {entry(names[0]).text(float(values[best]))} after round {at[best] + 1}"
    ends = [f"{entry(name).title} {entry(name).text(value)}" for name, value in lasts.items() if name not in references]
    dotted = " and ".join(f"{entry(name).title} {entry(name).text(value)}" for name, value in references.items())
    more = f" Final values: {', '.join(ends)}." if len(ends) > 1 else ""
    return f"{text}.{more}" + (f" Dotted lines, for reference: {dotted}." if dotted else "")


def _numbers(groups: Sequence[Group], names: Sequence[str]) -> Table:
    """The evaluations of a single run, or the ends of the curves of several."""
    if len(groups) > 1 or len(groups[0].runs) > 1:
        lines = []
        for group in groups:
            ends = {axis.name: mean for axis in axes() if (mean := mean_curve(group, names[0], axis.name)) is not None}
            if "rounds" in ends:
                means = [entry(names[0]).text(float(ends["rounds"].mean[place])) for place in (0, -1)]
                costs = [QUANTITIES[name].text(float(mean.x[-1])) for name, mean in ends.items()]
                lines.append([group.label, *means, *costs])
        head = ["variant", "first mean", "last mean", *(f"last {axis.title}" for axis in axes())]
        return Table(f"{entry(names[0]).heading}: ends of the curves", head, lines, "variants")
    run = groups[0].runs[0]
    known = {name: dict(zip(*(v.tolist() for v in run.series[name]), strict=True)) for name in names}
    rounds = run.series[names[0]][0].tolist()

    def row(number: int) -> list[str]:
        t = rounds[number]
        costs = [QUANTITIES[name].text(float(total[t])) for name, total in run.totals.items()]
        return [*costs, *(entry(name).text(values.get(t)) for name, values in known.items())]

    head = [entry(name).title for name in (*run.totals, *names)]
    return Table("Evaluations", head, LazyRows(len(rounds), row), "evaluations")
