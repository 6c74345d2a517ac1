"""Accuracy against cost, and the cost of reaching a target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedradio.core.contracts.records import MAIN_SCORES
from fedradio.core.units import show_percent
from fedradio.report.charts.chart import Absent, Axis, Chart, Dot, Group, Line, Plot
from fedradio.report.charts.learning import fitted, main_of, title_of, unlike
from fedradio.report.table import Table
from fedradio.results.compare import spent_until
from fedradio.results.quantities import axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval, mean_of, plus_minus

LEVELS = {
    "accuracy": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99),
    "rmse": tuple(first * 10.0**power for power in range(4, -5, -1) for first in (9, 8, 7, 6, 5, 4, 3, 2, 1.5, 1)),
}
"""Main scores that can be a target, from easy to hard."""

STEPS = 81
"""Targets of an error on a chart."""

SWITCH = "Cost in"

Reached = tuple[int, dict[str, Interval | None]]
"""How many runs reached a target, and what it took them on average, by quantity."""


def costs(groups: Sequence[Group]) -> list[Chart | Absent]:
    """Final scores against total costs, and the cost until a target; a reason where none has been reached."""
    groups = _measured(groups)
    name = main_of(groups)
    levels = _levels(groups, _best(groups))
    if not levels:
        why = f"no complete run has reached {_level_text(groups, LEVELS[name][0])}"
        return [Absent("cost", f"{entry(name).heading} against cost", why)]
    return [_ends(groups, _known(groups)), _targets(groups, _known(groups), levels)]


def cost_of_common_target(groups: Sequence[Group]) -> Table | None:
    """What it took to reach the highest target that every run has reached; None if there is none."""
    groups = _measured(groups)
    common = _levels(groups, _worst(groups))
    if not common:
        return None
    head = ["variant", "seeds", *(each.title for each in _known(groups))]
    title = f"Cost of reaching {_level_text(groups, common[-1])}, which every complete run reached: "
    rows = [[label, *cells] for label, _, *cells in _reached_rows(groups, common[-1:])]
    return Table(f"{title}mean ± 95 % confidence interval", head, rows, "variants")


def _measured(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if group.runs and all(main_of([group]) in run.series for run in group.runs)]


def _bests(groups: Sequence[Group]) -> list[float]:
    """The best main score of every run."""
    name = main_of(groups)
    curves = [run.series[name][1] for group in groups for run in group.runs if name in run.series]
    return [float(curve.max() if MAIN_SCORES[name] else curve.min()) for curve in curves]


def _best(groups: Sequence[Group]) -> float | None:
    """The best main score of all runs; None without any."""
    found = _bests(groups)
    return (max if MAIN_SCORES[main_of(groups)] else min)(found) if found else None


def _worst(groups: Sequence[Group]) -> float | None:
    """The main score that every run has reached; None without any."""
    found = _bests(groups)
    return (min if MAIN_SCORES[main_of(groups)] else max)(found) if found else None


def _levels(groups: Sequence[Group], best: float | None) -> list[float]:
    """Targets up to the ``best``, from easy to hard; of errors those below the first score of some run."""
    name = main_of(groups)
    if best is None:
        return []
    if MAIN_SCORES[name]:
        return [level for level in LEVELS[name] if level <= best]
    return [level for level in LEVELS[name] if best <= level < _first(groups)]


def _first(groups: Sequence[Group]) -> float:
    """The worst first main score of all runs."""
    name = main_of(groups)
    firsts = [float(run.series[name][1][0]) for group in groups for run in group.runs]
    return min(firsts) if MAIN_SCORES[name] else max(firsts)


def _level_text(groups: Sequence[Group], level: float) -> str:
    """A target with the name of the score."""
    return f"{show_percent(level, 0)} accuracy" if MAIN_SCORES[main_of(groups)] else f"RMSE {level:g}"


def _short_text(groups: Sequence[Group], level: float) -> str:
    """A target without the name of the score."""
    return show_percent(level, 0) if MAIN_SCORES[main_of(groups)] else f"{level:g}"


def _known(groups: Sequence[Group]) -> list[Quantity]:
    """The costs that are defined, those in which all groups are equal last."""
    known = [each for each in axes() if any(_total(group, each) for group in groups)]
    return sorted(known, key=lambda each: _equal(groups, each))


def _reached_rows(groups: Sequence[Group], levels: Sequence[float]) -> list[list[str]]:
    """Of every group and target: label, target, how many seeds reached it, costs."""
    rows = []
    for group in groups:
        for level in levels:
            count, means = reached(group, level, main_of(groups))
            texts = [plus_minus(means[each.name], each.text) for each in _known(groups)]
            rows.append([group.label, _short_text(groups, level), f"{count} of {len(group.runs)}", *texts])
    return rows


def _total(group: Group, cost: Quantity) -> Interval | None:
    """The mean cost of whole runs; None where it is undefined."""
    return mean_of(float(run.totals[cost.name][-1]) if cost.name in run.totals else None for run in group.runs)


def _equal(groups: Sequence[Group], cost: Quantity) -> bool:
    """Whether all groups cost the same in the end, which says little."""
    return len({f"{mean.mean:.6g}" for group in groups if (mean := _total(group, cost))}) < 2


def reached(group: Group, target: float, metric: str = "accuracy") -> Reached:
    """The runs of a group that reached a main score, and what they had spent by then: means over these runs."""
    rising = MAIN_SCORES[metric]
    spent = [found for run in group.runs if (found := spent_until(run, metric, target, rising)) is not None]
    return len(spent), {each.name: mean_of(one[each.name] for one in spent) for each in axes()}


def _axis(cost: Quantity, amounts: Sequence[float]) -> Axis:
    return Axis(title_of(cost), cost.unit, log=unlike(amounts), zero=not unlike(amounts))


def _ends(groups: Sequence[Group], known: Sequence[Quantity]) -> Chart:
    measured, scale = entry(main_of(groups)), entry(main_of(groups)).scale
    ends = {group.label: mean_of(float(run.series[measured.name][1][-1]) for run in group.runs) for group in groups}
    means = [scale * mean.mean for mean in ends.values() if mean]
    bars = [scale * end for mean in ends.values() if mean for end in (mean.low, mean.high) if end is not None]
    y = Axis(measured.heading, measured.unit, *fitted(measured, means, bars, room=1.0))
    plots = {}
    for each in known:
        dots = []
        for group in groups:
            cost, score = _total(group, each), ends[group.label]
            if cost and score:
                half = None if score.half is None else scale * score.half
                dots.append(Dot(group.label, cost.mean, scale * score.mean, group.style, cost.half, half))
        plots[each.name] = Plot(_axis(each, [dot.x for dot in dots]), y, dots, each.title)
    rows = [
        [
            group.label,
            plus_minus(ends[group.label], measured.text),
            *(plus_minus(_total(group, each), each.text) for each in known),
        ]
        for group in groups
    ]
    head = ["variant", measured.title, *(each.title for each in known)]
    corner = "upper" if measured.better == "more" else "lower"
    says = f"Means over seeds at the end, with 95 % confidence intervals. The {corner} left corner is best."
    numbers = Table(f"{measured.heading} and cost at the end", head, rows, "variants")
    return Chart("cost", f"{measured.heading} against cost", says, plots, numbers, SWITCH)


def _targets(groups: Sequence[Group], known: Sequence[Quantity], levels: Sequence[float]) -> Chart:
    measured, first = entry(main_of(groups)), _first(groups)
    scale = measured.scale
    if measured.better == "more":
        grid = [percent / 100 for percent in range(math.floor(100 * first), round(100 * levels[-1]) + 1)]
    else:
        grid = [float(level) for level in np.linspace(first, levels[-1], STEPS)]
    found = {group.label: [(level, *reached(group, level, measured.name)) for level in grid] for group in groups}
    plots = {}
    for each in known:
        lines = []
        for group in groups:
            points = [
                (scale * level, mean.mean)
                for level, count, means in found[group.label]
                if count == len(group.runs) and (mean := means[each.name])
            ]
            if points:
                x, y = np.array(points).T
                lines.append(Line(group.label, x, y, group.style, steps=True))
        y = _axis(each, [float(line.y[-1]) for line in lines])
        plots[each.name] = Plot(Axis(f"Target {measured.title}", measured.unit), y, lines, each.title)
    says = f"Cost when the {measured.title} first reached a target, as means over seeds. "
    says += "A line ends at the last target that all seeds reached."
    common = _levels(groups, _worst(groups))
    if common:
        says += f" Every complete run reached {_short_text(groups, common[-1])}."
    rows = _reached_rows(groups, sorted({*levels[-4:], *common[-1:]}))
    head = ["variant", "target", "seeds", *(each.title for each in known)]
    title = "Cost of reaching a target"
    return Chart("target", title, says, plots, Table(title, head, rows), SWITCH)
