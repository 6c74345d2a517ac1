"""Spread of accuracies, errors and other scores over clients, if each has its own test set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fedradio.report.charts.chart import (
    Absent,
    Area,
    Axis,
    Chart,
    Group,
    Line,
    Plot,
    Samples,
    distribution,
    quantiles,
    thinned,
)
from fedradio.report.charts.learning import title_of
from fedradio.report.style import DOT, SOLID, Style
from fedradio.report.table import Table
from fedradio.results.quantities import entry
from fedradio.results.run import Floats

ONE_TEST_SET = "all clients share one test set (data.test=client provides scores per client)"

BANDS = {"all clients": (0.0, 1.0, 0.15), "middle 80 %": (0.1, 0.9, 0.25), "middle 50 %": (0.25, 0.75, 0.4)}
"""Lower and upper quantile of every band, and its opacity."""

SWITCH = "Score"

By = Mapping[int, Floats]
"""Scores of the clients that have test samples, by the number of rounds done."""


def spread(groups: Sequence[Group]) -> list[Chart | Absent]:
    """Distributions at the last evaluation and, of a single run, at the first one and over the rounds."""
    known = [group for group in groups if group.runs and all(run.client_metrics for run in group.runs)]
    if not known:
        return [
            Absent("spread", "Distribution", ONE_TEST_SET),
            Absent("spread-rounds", "Over the rounds", ONE_TEST_SET),
        ]
    runs = [run for group in known for run in group.runs]
    names = [name for name in runs[0].client_metrics if all(name in run.client_metrics for run in runs)]
    alone = len(groups) == 1 and len(groups[0].runs) == 1
    if not alone:
        why = "it shows a single run; name one run folder"
        return [_last(known, names), Absent("spread-rounds", "Over the rounds", why)]
    by_metric, style = known[0].runs[0].client_metrics, known[0].style
    return [_first_and_last(by_metric, style), _over_rounds(by_metric, style)]


def _view(place: int, name: str) -> str:
    """The name of a metric's plot: the first one is the chart itself."""
    return name if place else ""


def _chart(samples: Mapping[str, Samples], says: str) -> Chart:
    plots = {
        _view(place, name): distribution(some, _axis(name), "clients", entry(name).title)
        for place, (name, some) in enumerate(samples.items())
    }
    rows = {f"{entry(name).title}, {label}": sample for name, some in samples.items() for label, sample in some.items()}
    numbers = quantiles(rows, "Quantiles of the clients' scores", _text(next(iter(samples))))
    return Chart("spread", "Distribution", says, plots, numbers, SWITCH)


def _axis(name: str, zero: bool = False) -> Axis:
    return Axis(title_of(entry(name)), entry(name).unit, zero=zero)


def _text(name: str) -> Callable[[float], str]:
    """How a drawn value of a metric is written."""
    measured = entry(name)
    return lambda drawn: measured.text(drawn / measured.scale)


def _ends(name: str) -> tuple[str, str]:
    """What the lowest and the highest value of a metric are called."""
    return ("best", "worst") if entry(name).better == "less" else ("worst", "best")


def _last(groups: Sequence[Group], names: Sequence[str]) -> Chart:
    samples = {}
    for name in names:
        ends = {
            group.label: [by[max(by)] for run in group.runs if (by := run.client_metrics[name])] for group in groups
        }
        samples[name] = {
            group.label: (group.style, entry(name).scale * np.concatenate(ends[group.label])) for group in groups
        }
    return _chart(samples, "Scores of the clients of all runs at the last evaluation.")


def _first_and_last(by_metric: Mapping[str, By], style: Style) -> Chart:
    samples = {}
    for name, by in by_metric.items():
        looks = {min(by): Style("@soft", DOT, "")} | {max(by): Style(style.colour, SOLID, "")}
        samples[name] = {f"round {at}": (look, entry(name).scale * by[at]) for at, look in looks.items()}
    main, by = next(iter(by_metric.items()))
    values = by[max(by)]
    shown = map(entry(main).text, map(float, (values.min(), np.median(values), values.max(), values.std())))
    (low, high), (least, median, most, deviation) = _ends(main), shown
    says = f"After round {max(by)} the {low} of {len(values):,} clients has {least}, the median {median}, "
    return _chart(samples, says + f"the {high} {most}; the standard deviation is {deviation}.")


def _over_rounds(by_metric: Mapping[str, By], style: Style) -> Chart | Absent:
    main, by = next(iter(by_metric.items()))
    name, title, text = "spread-rounds", "Over the rounds", entry(main).text
    if len(by) < 2:
        return Absent(name, title, "there is only one evaluation on record, so there is nothing to compare it with yet")
    first, last = by[min(by)], by[max(by)]
    says = f"The standard deviation over clients changes from {text(float(first.std()))} after round {min(by)} "
    says += f"to {text(float(last.std()))} after round {max(by)}."
    rows = [
        [str(at), *map(text, map(float, np.quantile(v, (0, 0.1, 0.5, 0.9, 1)))), text(float(v.std()))]
        for at, v in sorted(by.items())
    ]
    low, high = _ends(main)
    head = ["rounds", low, "10 %", "median", "90 %", high, "deviation"]
    plots = {
        _view(place, metric): _bands(metric, values, style) for place, (metric, values) in enumerate(by_metric.items())
    }
    return Chart(name, title, says, plots, Table("Quantiles over the clients", head, rows, "evaluations"), SWITCH)


def _bands(metric: str, by: By, style: Style) -> Plot:
    at = [sorted(by)[place] for place in thinned(len(by)).tolist()]
    x = np.array(at, dtype=np.float64)

    def level(q: float) -> Floats:
        return np.array([entry(metric).scale * float(np.quantile(by[t], q)) for t in at])

    areas = [Area(label, x, level(low), level(high), style.colour, much) for label, (low, high, much) in BANDS.items()]
    median = Line("median client", x, level(0.5), Style(style.colour, SOLID, "o" if len(x) == 1 else ""))
    return Plot(Axis("Round", whole=True), _axis(metric, zero=True), [*areas, median], entry(metric).title)
