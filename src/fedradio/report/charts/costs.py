"""Accuracy against cost, and the cost of reaching a target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedradio.core.units import show_percent
from fedradio.report.charts.chart import Absent, Axis, Chart, Dot, Group, Line, Plot
from fedradio.report.charts.learning import fitted, title_of, unlike
from fedradio.report.table import Table
from fedradio.results.compare import spent_until
from fedradio.results.quantities import axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval, mean_of, plus_minus

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99)
"""Accuracies that can be a target."""

SWITCH = "Cost in"

Reached = tuple[int, dict[str, Interval | None]]
"""How many runs reached a target, and what it took them on average, by quantity."""


def costs(groups: Sequence[Group]) -> list[Chart | Absent]:
    """Final accuracies against total costs, and the cost until a target; a reason where none has been reached."""
    groups = _measured(groups)
    levels = _levels(max(_best(groups), default=0.0))
    if not levels:
        why = f"no complete run has reached {show_percent(LEVELS[0], 0)} accuracy"
        return [Absent("cost", "Accuracy against cost", why)]
    return [_ends(groups, _known(groups)), _targets(groups, _known(groups), levels)]


def cost_of_common_target(groups: Sequence[Group]) -> Table | None:
    """What it took to reach the highest target that every run has reached; None if there is none."""
    groups = _measured(groups)
    common = _levels(min(_best(groups), default=0.0))
    if not common:
        return None
    head = ["variant", "seeds", *(each.title for each in _known(groups))]
    title = f"Cost of reaching {show_percent(common[-1], 0)} accuracy, which every complete run reached: "
    rows = [[label, *cells] for label, _, *cells in _reached_rows(groups, common[-1:])]
    return Table(f"{title}mean ± 95 % confidence interval", head, rows, "variants")


def _measured(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if group.runs and all("accuracy" in run.series for run in group.runs)]


def _best(groups: Sequence[Group]) -> list[float]:
    """The best accuracy of every run."""
    return [float(run.series["accuracy"][1].max()) for group in groups for run in group.runs]


def _levels(best: float) -> list[float]:
    return [level for level in LEVELS if level <= best]


def _known(groups: Sequence[Group]) -> list[Quantity]:
    """The costs that are defined, those in which all groups are equal last."""
    known = [each for each in axes() if any(_total(group, each) for group in groups)]
    return sorted(known, key=lambda each: _equal(groups, each))


def _reached_rows(groups: Sequence[Group], levels: Sequence[float]) -> list[list[str]]:
    """Of every group and target: label, target, how many seeds reached it, costs."""
    rows = []
    for group in groups:
        for level in levels:
            count, means = reached(group, level)
            texts = [plus_minus(means[each.name], each.text) for each in _known(groups)]
            rows.append([group.label, show_percent(level, 0), f"{count} of {len(group.runs)}", *texts])
    return rows


def _total(group: Group, cost: Quantity) -> Interval | None:
    """The mean cost of whole runs; None where it is undefined."""
    return mean_of(float(run.totals[cost.name][-1]) if cost.name in run.totals else None for run in group.runs)


def _equal(groups: Sequence[Group], cost: Quantity) -> bool:
    """Whether all groups cost the same in the end, which says little."""
    return len({f"{mean.mean:.6g}" for group in groups if (mean := _total(group, cost))}) < 2


def reached(group: Group, target: float) -> Reached:
    """The runs of a group that reached an accuracy, and what they had spent by then: means over these runs."""
    spent = [found for run in group.runs if (found := spent_until(run, "accuracy", target)) is not None]
    return len(spent), {each.name: mean_of(one[each.name] for one in spent) for each in axes()}


def _axis(cost: Quantity, amounts: Sequence[float]) -> Axis:
    return Axis(title_of(cost), cost.unit, log=unlike(amounts), zero=not unlike(amounts))


def _ends(groups: Sequence[Group], known: Sequence[Quantity]) -> Chart:
    accuracies = {group.label: mean_of(float(run.series["accuracy"][1][-1]) for run in group.runs) for group in groups}
    means = [100 * mean.mean for mean in accuracies.values() if mean]
    bars = [100 * end for mean in accuracies.values() if mean for end in (mean.low, mean.high) if end is not None]
    y = Axis("Accuracy", "%", *fitted(entry("accuracy"), means, bars, room=1.0))
    plots = {}
    for each in known:
        dots = []
        for group in groups:
            cost, accuracy = _total(group, each), accuracies[group.label]
            if cost and accuracy:
                half = None if accuracy.half is None else 100 * accuracy.half
                dots.append(Dot(group.label, cost.mean, 100 * accuracy.mean, group.style, cost.half, half))
        plots[each.name] = Plot(_axis(each, [dot.x for dot in dots]), y, dots, each.title)
    rows = [
        [
            group.label,
            plus_minus(accuracies[group.label], show_percent),
            *(plus_minus(_total(group, each), each.text) for each in known),
        ]
        for group in groups
    ]
    head = ["variant", "accuracy", *(each.title for each in known)]
    says = "Means over seeds at the end of the runs; bars are 95 % confidence intervals. The upper left corner is best."
    numbers = Table("Accuracy and cost at the end", head, rows, "variants")
    return Chart("cost", "Accuracy against cost", says, plots, numbers, SWITCH)


def _targets(groups: Sequence[Group], known: Sequence[Quantity], levels: Sequence[float]) -> Chart:
    first = min(float(run.series["accuracy"][1][0]) for group in groups for run in group.runs)
    grid = [percent / 100 for percent in range(math.floor(100 * first), round(100 * levels[-1]) + 1)]
    found = {group.label: [(level, *reached(group, level)) for level in grid] for group in groups}
    plots = {}
    for each in known:
        lines = []
        for group in groups:
            points = [
                (100 * level, mean.mean)
                for level, count, means in found[group.label]
                if count == len(group.runs) and (mean := means[each.name])
            ]
            if points:
                x, y = np.array(points).T
                lines.append(Line(group.label, x, y, group.style, steps=True))
        y = _axis(each, [float(line.y[-1]) for line in lines])
        plots[each.name] = Plot(Axis("Target accuracy", "%"), y, lines, each.title)
    says = "Cost when the accuracy first reached a target, as means over seeds. "
    says += "A line ends at the last target that all seeds reached."
    common = _levels(min(_best(groups)))
    if common:
        says += f" Every complete run reached {show_percent(common[-1], 0)}."
    rows = _reached_rows(groups, sorted({*levels[-4:], *common[-1:]}))
    head = ["variant", "target", "seeds", *(each.title for each in known)]
    title = "Cost of reaching a target"
    return Chart("target", title, says, plots, Table(title, head, rows), SWITCH)
