"""Charts of a sweep's page: mean curves with bands, differences with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fedradio.report.page.chart import (
    VISIBLE,
    Chart,
    ChartView,
    Trace,
    absent,
    axis,
    figure,
    label,
    numbers_table,
    plain,
)
from fedradio.report.page.html import Html
from fedradio.report.page.numbers import percent, plus_minus
from fedradio.report.page.sweep_data import SweptVariant


def chart_height(variants: Sequence[SweptVariant]) -> int:
    """The height of a chart, with room for a legend of one line per variant."""
    return 290 + 20 * min(len(variants), 25)


def hidden(variants: Sequence[SweptVariant]) -> str:
    """A sentence on the variants that are hidden at first; empty if all are shown."""
    if len(variants) <= VISIBLE:
        return ""
    return f" The first {VISIBLE} of {len(variants)} variants are shown; click on the legend to show or hide each."


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
