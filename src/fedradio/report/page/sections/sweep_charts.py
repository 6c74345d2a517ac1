"""Charts of a sweep's page: mean curves with bands, differences with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fedradio.report.charts.chart import Group, thinned
from fedradio.report.charts.energy import energy
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Layout,
    Trace,
    absent,
    axis,
    charts,
    figure,
    label,
    line,
    numbers_table,
    plain,
    shade,
    switch,
    whole,
)
from fedradio.report.page.html import UNDEFINED, Html, paragraph, section, tag
from fedradio.report.page.numbers import axis_title, percent, plus_minus
from fedradio.report.page.sweep_data import DRAWN, SweptVariant
from fedradio.results.quantities import QUANTITIES, axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Band, band

VISIBLE = 8
"""Number of variants shown at first; a click on the legend shows others."""

UNLIKE = 20.0
"""Ratio of the largest to the smallest cost above which an axis is logarithmic."""


def learning(variants: Sequence[SweptVariant]) -> Html:
    """The section of mean curves of all variants, with confidence intervals."""
    known = [
        each.name for each in axes() if any(_band(variant, "accuracy", each.name) is not None for variant in variants)
    ]
    if not known:
        return section("learning", "Learning", paragraph("No run is complete yet.", class_="absent"))
    missing = [each.absent for each in axes() if each.absent and each.name not in known]
    charts = [_curves(variants, name, known) for name in DRAWN]
    options = {name: QUANTITIES[name].title for name in known}
    return section(
        "learning",
        "Learning",
        switch("against", "Plot against", options, [chart.identity for chart in charts]),
        paragraph(" ".join(missing), class_="aside") if missing else None,
        tag("div", *map(figure, charts), class_="pair"),
    )


def _band(variant: SweptVariant, name: str, against: str) -> Band | None:
    """The mean curve over complete runs; None unless all of them define it."""
    runs = list(variant.complete().values())
    curves = [run.curves[name, against] for run in runs if (name, against) in run.curves]
    return band(curves) if curves and len(curves) == len(runs) else None


def _curves(variants: Sequence[SweptVariant], name: str, known: Sequence[str]) -> Chart:
    """The chart of a metric against every axis that is defined."""
    views = {}
    for against in known:
        traces: list[Trace] = []
        means: list[Band] = []
        for place, variant in enumerate(variants):
            mean = _band(variant, name, against)
            if mean is not None:
                traces += _with_band(variant, mean, entry(name).scale, place < VISIBLE)
                means.append(mean)
        views[against] = ChartView(traces, {"xaxis": _x(against, means), "yaxis": _y(name, means), "showlegend": True})
    says = "Means over seeds; bands are 95 % confidence intervals." + hidden(variants)
    return Chart(
        f"{name}-chart", entry(name).heading, says, views, _ends(variants, name, known), height=chart_height(variants)
    )


def _x(against: str, means: Sequence[Band]) -> Layout:
    """The axis of a cost: logarithmic if the variants end at very different amounts."""
    title = axis_title(QUANTITIES[against])
    if against == "rounds":
        return whole(title, max((float(mean.x[-1]) for mean in means), default=0.0)) | {"rangemode": "tozero"}
    if unlike([float(mean.x[-1]) for mean in means]) and all(mean.x[0] > 0 for mean in means):
        return axis(f"{title}, logarithmic", type="log")
    return axis(title, rangemode="tozero")


def _y(name: str, means: Sequence[Band]) -> Layout:
    """The axis of a metric that follows the mean curves."""
    scale = entry(name).scale
    values = [scale * float(end) for mean in means for end in (mean.mean.min(), mean.mean.max())]
    bands = [scale * float(end) for mean in means if mean.n > 1 for end in (mean.low.min(), mean.high.max())]
    return followed(entry(name), values, bands)


def followed(metric: Quantity, values: Sequence[float], bands: Sequence[float] = (), room: float = 0.25) -> Layout:
    """An axis that fits the data, and the bands unless they would flatten it; ``room`` is added on either side.

    Shares stay between 0 and 100 %. Wide intervals of few seeds reach beyond the axis.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high == low:
        low, high = low - max(abs(low), 1.0) / 10, high + max(abs(high), 1.0) / 10
    span = high - low
    least = max(min([low, *bands]), low - room * span) - span / 20
    most = min(max([high, *bands]), high + room * span) + span / 20
    least, most = (
        max(least, 0.0) if min(values, default=0.0) >= 0 else least,
        min(most, 100.5) if metric.format == "percent" else most,
    )
    return axis(axis_title(metric), range=plain([least, most]))


def unlike(amounts: Sequence[float]) -> bool:
    """Whether amounts differ so much in size that a linear axis would squeeze the small ones."""
    return bool(amounts) and min(amounts) > 0 and max(amounts) > UNLIKE * min(amounts)


def chart_height(variants: Sequence[SweptVariant]) -> int:
    """The height of a chart, with room for a legend of one line per variant."""
    return 290 + 20 * min(len(variants), 25)


def hidden(variants: Sequence[SweptVariant]) -> str:
    """A sentence on the variants that are hidden at first; empty if all are shown."""
    if len(variants) <= VISIBLE:
        return ""
    return f" The first {VISIBLE} of {len(variants)} variants are shown; click on the legend to show or hide each."


def _with_band(variant: SweptVariant, curve: Band, scale: float, shown: bool) -> list[Trace]:
    """The line and the band of a variant."""
    chosen = thinned(len(curve.x), 200)
    x, mean, low, high = (
        plain(v[chosen]) for v in (curve.x, scale * curve.mean, scale * curve.low, scale * curve.high)
    )
    look = {"line": {"dash": variant.style.plotly_dash}, "marker": {"symbol": variant.style.plotly_marker}}
    traces = shade(x, low, high, variant.colour, variant.identity) if curve.n > 1 else []
    traces.append(line(variant.label, x, mean, variant.colour, legendgroup=variant.identity, **look))
    return traces if shown else [trace | {"visible": "legendonly"} for trace in traces]


def _ends(variants: Sequence[SweptVariant], name: str, known: Sequence[str]) -> Html:
    """The table of the first and last values of the curves."""
    rows, metric = [], entry(name)
    for variant in variants:
        bands = {against: mean for against in known if (mean := _band(variant, name, against)) is not None}
        if "rounds" in bands:
            means = [metric.text(float(bands["rounds"].mean[place])) for place in (0, -1)]
            lasts = {against: QUANTITIES[against].text(float(mean.x[-1])) for against, mean in bands.items()}
            rows.append([variant.label, *means, *(lasts.get(against, UNDEFINED) for against in known)])
    head = ["variant", "first mean", "last mean", *(f"last {QUANTITIES[against].title}" for against in known)]
    return numbers_table(f"{metric.heading}: ends of the curves", head, rows, "variants")


def differences(variants: Sequence[SweptVariant]) -> Html:
    """The chart of paired differences in accuracy from the first variant, with intervals."""
    title = "Accuracy compared with the first variant"
    pairs = [(variant, variant.against(variants[0], "accuracy")) for variant in variants[1:]]
    known = [(variant, difference) for variant, difference in pairs if difference is not None]
    if not known:
        return absent(title, "No seed is complete for both the first and another variant.")
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label(variant.label),
            "x": plain([100 * difference.mean]),
            "y": [place],
            "error_x": {"type": "data", "array": plain([100 * (difference.half or 0.0)]), "color": variant.colour},
            "marker": {"color": variant.colour, "size": 10, "symbol": variant.style.plotly_marker},
            "hovertemplate": "%{x} ± %{error_x.array}",
        }
        for place, (variant, difference) in enumerate(known)
    ]
    names = [textwrap.wrap(variant.label, 38) for variant, _ in known]
    line_px = max(map(len, names)) * 16
    layout = {
        "margin": {"l": 8, "r": 8},
        "xaxis": axis("Difference [percentage points]", zeroline=True, zerolinecolor="@soft", zerolinewidth=2),
        "yaxis": {"range": [len(known) - 0.5, -0.8], "visible": False},
        "annotations": [
            {"x": 0, "xref": "paper", "y": place, "text": "<br>".join(map(label, lines)), "showarrow": False}
            | {
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 8,
                "align": "left",
                "font": {"size": 12, "color": "@ink"},
            }
            for place, lines in enumerate(names)
        ],
    }
    ahead = sum(difference.low is not None and difference.low > 0 for _, difference in known)
    behind = sum(difference.high is not None and difference.high < 0 for _, difference in known)
    says = f"Significantly better than the first variant: {ahead} of {len(known)}; significantly worse: {behind}."
    rows = [[variant.label, str(difference.n), plus_minus(difference, percent)] for variant, difference in known]
    table = numbers_table("Differences in accuracy", ["variant", "seeds", "difference"], rows, "variants")
    chart = Chart(
        "difference-chart",
        title,
        says,
        {"all": ChartView(traces, layout)},
        table,
        height=100 + (36 + line_px) * len(known),
    )
    return figure(chart)


def energies(variants: Sequence[SweptVariant]) -> Html:
    """The section of distributions of joules, one line per variant."""
    complete = {variant.label: list(variant.complete().values()) for variant in variants}
    groups = [Group(variant.label, variant.style, complete[variant.label]) for variant in variants]
    without = [label for label, runs in complete.items() if runs and not all(run.joules for run in runs)]
    aside = f"Variants with undefined energy: {', '.join(without)}." if 0 < len(without) < len(variants) else ""
    said = paragraph(aside, class_="aside") if aside else None
    return section("energy", "Energy", said, *charts(energy(groups)))
