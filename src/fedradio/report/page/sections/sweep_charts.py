"""Charts of a sweep: curves with bands, differences with intervals, distributions of joules."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Layout,
    Trace,
    absent,
    axis,
    figure,
    label,
    line,
    numbers_table,
    plain,
    rises,
    shade,
    switch,
    thinned,
    whole,
)
from fedradio.report.page.html import UNDEFINED, Html, paragraph, section, tag
from fedradio.report.page.numbers import (
    AXIS_ABSENT,
    AXIS_TITLES,
    AXIS_WORDS,
    metric,
    percent,
    plus_minus,
    quantity,
    spent,
)
from fedradio.report.page.sections.energy import energy_axis, with_total
from fedradio.report.page.sweep_data import SweptVariant
from fedradio.results.run import Floats
from fedradio.results.statistics import Band, band

VISIBLE = 8
"""Variants beyond these are hidden at first; a click on the legend shows them."""

NAMES = {"accuracy": ("Accuracy", "Accuracy [%]", 100.0), "loss": ("Test loss", "Loss [nat]", 1.0)}
"""Title, axis and scale of a metric."""


def learning(variants: Sequence[SweptVariant]) -> Html:
    """Mean curves of every variant with the intervals of the mean."""
    axes = [one for one in AXIS_TITLES if any(_band(variant, "accuracy", one) is not None for variant in variants)]
    if not axes:
        return section("learning", "Learning", paragraph("No run is complete yet.", class_="absent"))
    missing = [words for name, words in AXIS_ABSENT.items() if name not in axes]
    charts = [_curves(variants, name, axes) for name in NAMES]
    return section(
        "learning",
        "Learning",
        switch("against", "Draw against", {one: AXIS_WORDS[one] for one in axes}, [chart.identity for chart in charts]),
        paragraph(" ".join(missing), class_="aside") if missing else None,
        tag("div", *map(figure, charts), class_="pair"),
    )


def _band(variant: SweptVariant, name: str, against: str) -> Band | None:
    """Over the complete runs; None unless all of them define it."""
    runs = list(variant.complete().values())
    found = [run.curves[name, against] for run in runs if (name, against) in run.curves]
    return band(found) if found and len(found) == len(runs) else None


def _curves(variants: Sequence[SweptVariant], name: str, axes: Sequence[str]) -> Chart:
    title, _, scale = NAMES[name]
    views = {}
    for against in axes:
        traces: list[Trace] = []
        most = 0.0
        for place, variant in enumerate(variants):
            found = _band(variant, name, against)
            if found is not None:
                traces += _with_band(variant, found, scale, place < VISIBLE)
                most = max(most, float(found.x[-1]))
        x = whole(AXIS_TITLES[against], most) if against == "rounds" else axis(AXIS_TITLES[against])
        views[against] = ChartView(
            traces, {"xaxis": x | {"rangemode": "tozero"}, "yaxis": _y(name), "showlegend": True}
        )
    says = "Means over seeds; bands are the 95 % intervals of the mean." + _hidden(variants)
    return Chart(f"{name}-chart", title, says, views, _ends(variants, name, axes), height=_height(variants))


def _y(name: str) -> Layout:
    """Within what a metric can be: wide intervals of few seeds reach beyond."""
    limits = {"minallowed": 0} | ({"maxallowed": 102} if name == "accuracy" else {})
    return axis(NAMES[name][1], rangemode="tozero", autorangeoptions=limits)


def _height(variants: Sequence[SweptVariant]) -> int:
    """Room for a legend of one line per variant."""
    return 290 + 20 * min(len(variants), 25)


def _hidden(variants: Sequence[SweptVariant]) -> str:
    if len(variants) <= VISIBLE:
        return ""
    return f" The first {VISIBLE} of {len(variants)} variants are shown; the legend shows and hides each."


def _with_band(variant: SweptVariant, found: Band, scale: float, shown: bool) -> list[Trace]:
    chosen = thinned(len(found.x), 200)
    x, mean, low, high = (
        plain(v[chosen]) for v in (found.x, scale * found.mean, scale * found.low, scale * found.high)
    )
    look = {"line": {"dash": variant.style.plotly_dash}, "marker": {"symbol": variant.style.plotly_marker}}
    traces = shade(x, low, high, variant.colour, variant.identity) if found.n > 1 else []
    traces.append(line(variant.label, x, mean, variant.colour, legendgroup=variant.identity, **look))
    return traces if shown else [trace | {"visible": "legendonly"} for trace in traces]


def _ends(variants: Sequence[SweptVariant], name: str, axes: Sequence[str]) -> Html:
    """Where each curve begins and ends."""
    rows = []
    for variant in variants:
        bands = {against: found for against in axes if (found := _band(variant, name, against)) is not None}
        if "rounds" in bands:
            first = bands["rounds"]
            ends = [spent(against, float(bands[against].x[-1])) if against in bands else UNDEFINED for against in axes]
            rows.append([variant.label, metric(name, float(first.mean[0])), metric(name, float(first.mean[-1])), *ends])
    head = ["variant", "first mean", "last mean", *(f"last {AXIS_WORDS[against]}" for against in axes)]
    return numbers_table(f"{NAMES[name][0]}: ends of the curves", head, rows, "variants")


def differences(variants: Sequence[SweptVariant]) -> Html:
    """Accuracies of all variants against the first, with intervals."""
    title = "Accuracy against the first variant"
    pairs = [(variant, variant.against(variants[0], "accuracy")) for variant in variants[1:]]
    known = [(variant, found) for variant, found in pairs if found is not None]
    if not known:
        return absent(title, "No seed is complete in both the first and another variant.")
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label(variant.label),
            "x": plain([100 * found.mean]),
            "y": [place],
            "error_x": {"type": "data", "array": plain([100 * (found.half or 0.0)]), "color": variant.colour},
            "marker": {"color": variant.colour, "size": 10, "symbol": variant.style.plotly_marker},
            "hovertemplate": "%{x} ± %{error_x.array}",
        }
        for place, (variant, found) in enumerate(known)
    ]
    names = [textwrap.wrap(variant.label, 38) for variant, _ in known]
    line_px = max(map(len, names)) * 16
    layout = {
        "margin": {"l": 8, "r": 8},
        "xaxis": axis("Difference [percentage points]", zeroline=True, zerolinecolor="@soft", zerolinewidth=2),
        "yaxis": {"range": [len(known) - 0.5, -0.8], "visible": False},
        "annotations": [
            {"x": 0, "xref": "paper", "y": place, "text": "<br>".join(map(label, words)), "showarrow": False}
            | {
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 8,
                "align": "left",
                "font": {"size": 12, "color": "@ink"},
            }
            for place, words in enumerate(names)
        ],
    }
    ahead = sum(found.low is not None and found.low > 0 for _, found in known)
    behind = sum(found.high is not None and found.high < 0 for _, found in known)
    says = f"Of {len(known)} variants {ahead} lie wholly above the first and {behind} wholly below, intervals included."
    rows = [[variant.label, str(found.n), plus_minus(found, percent)] for variant, found in known]
    table = numbers_table("Differences of accuracy", ["variant", "seeds", "difference"], rows, "variants")
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
    """Distributions of joules over clients and over edge rounds, one line per variant."""
    joules = {variant.identity: _pooled(variant) for variant in variants}
    known = [variant for variant in variants if joules[variant.identity] is not None]
    if not known:
        why = "Joules are undefined in every complete run: hop 0 has no fleet whose computing or sending takes energy."
        return section("energy", "Energy", paragraph(why, class_="absent"))
    charts = [
        _distribution("client-energy", "Per client, whole run", "clients", known, 0),
        _distribution("slot-energy", "Per edge round, all clients", "edge rounds", known, 1),
    ]
    left = [variant.label for variant in variants if variant.complete() and variant not in known]
    words = paragraph(f"Without defined joules: {', '.join(left)}.", class_="aside") if left else None
    return section("energy", "Energy", words, tag("div", *map(figure, charts), class_="pair"))


def _pooled(variant: SweptVariant) -> tuple[Floats, Floats] | None:
    """Joules of all clients, and of all edge rounds, of all complete runs."""
    runs = [run for run in variant.complete().values() if run.client_j]
    if not runs:
        return None
    clients = [next(iter(with_total(run.client_j).values())) for run in runs]
    slots = [next(iter(with_total(run.slot_j).values())) for run in runs]
    return np.concatenate(clients), np.concatenate(slots)


def _distribution(identity: str, title: str, what: str, variants: Sequence[SweptVariant], which: int) -> Chart:
    found = [(variant, pooled[which]) for variant in variants if (pooled := _pooled(variant)) is not None]
    traces: list[Trace] = []
    for place, (variant, values) in enumerate(found):
        look = {"dash": variant.style.plotly_dash, "shape": "hv"}
        trace = line(variant.label, *rises(values), variant.colour, line=look) | {"mode": "lines"}
        traces.append(trace if place < VISIBLE else trace | {"visible": "legendonly"})
    layout = {
        "xaxis": energy_axis(np.concatenate([values for _, values in found])),
        "yaxis": axis(f"Share of {what}", range=[0, 1.02]),
        "showlegend": True,
    }
    medians = {variant.label: float(np.median(values)) for variant, values in found}
    says = f"{what.capitalize()} of all complete runs of a variant. The median is {_medians_words(medians)}."
    rows = [
        [variant.label, *(quantity(float(np.quantile(values, q)), "J") for q in (0.1, 0.5, 0.9, 1.0))]
        for variant, values in found
    ]
    table = numbers_table(
        f"Energy over {what}", ["variant", "a tenth", "median", "nine tenths", "most"], rows, "variants"
    )
    return Chart(
        identity, title, says + _hidden(variants), {"all": ChartView(traces, layout)}, table, height=_height(variants)
    )


def _medians_words(joules: Mapping[str, float]) -> str:
    """Where medians are lowest and highest, by the variants' labels."""
    low, high = min(joules, key=lambda one: joules[one]), max(joules, key=lambda one: joules[one])
    least, most = (quantity(joules[one], "J") for one in (low, high))
    if len(joules) == 1:
        return least
    if joules[low] == joules[high]:
        return f"the same in all variants ({least})"
    return f"lowest in {low} ({least}) and highest in {high} ({most})"
