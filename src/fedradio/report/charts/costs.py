"""Accuracy against cost, and the cost of reaching a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedradio.core.units import show_percent
from fedradio.report.charts.chart import Absent, Axis, Chart, Dot, Drawable, Group, Line, Plot, rows
from fedradio.report.charts.learning import fitted, title_of, unlike
from fedradio.results.quantities import axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval, mean_of, plus_minus

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99)
"""Accuracies that can be a target."""

Reached = tuple[int, dict[str, Interval | None]]
"""How many runs reached a target, and what it took them on average, by quantity."""


def costs(groups: Sequence[Group]) -> list[Chart | Absent]:
    """Final accuracies against total costs, and the cost until a target; a reason where none has been reached."""
    groups = [group for group in groups if group.runs and all("accuracy" in run.series for run in group.runs)]
    ends = [float(values.max()) for group in groups for run in group.runs for values in [run.series["accuracy"][1]]]
    levels = [level for level in LEVELS if level <= max(ends, default=0.0)]
    if not levels:
        return [
            Absent(
                "cost", "Accuracy against cost", f"no complete run has reached {show_percent(LEVELS[0], 0)} accuracy"
            )
        ]
    known = sorted(
        (each for each in axes() if any(_total(group, each) for group in groups)), key=lambda each: _equal(groups, each)
    )
    return [_ends(groups, known), _targets(groups, known, levels, min(ends))]


def _total(group: Group, cost: Quantity) -> Interval | None:
    """The mean cost of whole runs; None where it is undefined."""
    return mean_of(float(run.totals[cost.name][-1]) if cost.name in run.totals else None for run in group.runs)


def _equal(groups: Sequence[Group], cost: Quantity) -> bool:
    """Whether all groups cost the same in the end, which says little."""
    return len({f"{mean.mean:.6g}" for group in groups if (mean := _total(group, cost))}) < 2


def reached(group: Group, target: float) -> Reached:
    """The runs of a group that reached an accuracy, and what they had spent by then: means over these runs."""
    spent = [found for run in group.runs if (found := spent_until(run, target)) is not None]
    return len(spent), {each.name: mean_of(one.get(each.name) for one in spent) for each in axes()}


def spent_until(run: Drawable, target: float) -> dict[str, float] | None:
    """The cost of a run up to its first evaluation that reaches the target; None if there is none."""
    rounds, accuracy = run.series["accuracy"]
    hits = np.flatnonzero(accuracy >= target)
    return {name: float(total[rounds[hits[0]]]) for name, total in run.totals.items()} if len(hits) else None


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
        plots[each.name] = Plot(_axis(each, [dot.x for dot in dots]), y, dots)
    lines = [
        [
            group.label,
            plus_minus(accuracies[group.label], show_percent),
            *(plus_minus(_total(group, each), each.text) for each in known),
        ]
        for group in groups
    ]
    head = ["variant", "accuracy", *(each.title for each in known)]
    says = "Means over seeds at the end of the runs; bars are 95 % confidence intervals. The upper left corner is best."
    return Chart(
        "cost", "Accuracy against cost", says, plots, rows(lines, "Accuracy and cost at the end", head, "variants")
    )


def _targets(groups: Sequence[Group], known: Sequence[Quantity], levels: Sequence[float], common: float) -> Chart:
    first = min(float(run.series["accuracy"][1][0]) for group in groups for run in group.runs)
    grid = np.arange(np.floor(100 * first) / 100, levels[-1] + 0.005, 0.01).tolist()
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
        plots[each.name] = Plot(Axis("Target accuracy", "%"), _axis(each, [float(line.y[-1]) for line in lines]), lines)
    says = "Cost when the accuracy first reached a target, as means over seeds. "
    says += "A line ends at the last target that all seeds reached."
    everyone = [level for level in levels if level <= common]
    if everyone:
        says += f" Every complete run reached {show_percent(everyone[-1], 0)}."
    shown = sorted({*levels[-4:], *everyone[-1:]})
    numbers = []
    for group in groups:
        for level in shown:
            count, means = reached(group, level)
            texts = [plus_minus(means[each.name], each.text) for each in known]
            numbers.append([group.label, show_percent(level, 0), f"{count} of {len(group.runs)}", *texts])
    head = ["variant", "target", "seeds", *(each.title for each in known)]
    return Chart(
        "target", "Cost of reaching a target", says, plots, rows(numbers, "Cost of reaching a target", head, "rows")
    )
