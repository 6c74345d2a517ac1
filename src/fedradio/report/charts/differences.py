"""Paired differences between the variants of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from fedradio.report.charts.chart import Absent, Axis, Chart, Dot, Level, Plot, name_lines
from fedradio.report.style import SOLID, Style
from fedradio.report.table import Table
from fedradio.results.quantities import entry
from fedradio.results.statistics import Interval, plus_minus

FRAME_PX, ROW_PX, LINE_PX = 100, 36, 16
"""Height on the page of everything around the variants, of a variant, and of every line of its label."""


def differences(pairs: Sequence[tuple[str, Style, Interval | None]], metric: str = "accuracy") -> Chart | Absent:
    """Differences in a main score from the first variant, with intervals: of every other label, style, difference."""
    measured = entry(metric)
    name, title = "differences", f"{measured.heading} compared with the first variant"
    known = [(label, style, difference) for label, style, difference in pairs if difference is not None]
    if not known:
        return Absent(name, title, "no seed is complete for both the first and another variant")
    scale = measured.scale
    dots = [
        Dot(label, scale * difference.mean, place, style, None if difference.half is None else scale * difference.half)
        for place, (label, style, difference) in enumerate(known)
    ]
    above = sum(difference.low is not None and difference.low > 0 for _, _, difference in known)
    below = sum(difference.high is not None and difference.high < 0 for _, _, difference in known)
    ahead, behind = (above, below) if measured.better == "more" else (below, above)
    says = f"Significantly better than the first variant: {ahead} of {len(known)}; significantly worse: {behind}."
    rows = [[label, str(difference.n), plus_minus(difference, measured.text)] for label, _, difference in known]
    numbers = Table(f"Differences in {measured.title}", ["variant", "seeds", "difference"], rows, "variants")
    names = [label for label, _, _ in known]
    lines = max(name_lines(name).count("\n") + 1 for name in names)
    height = FRAME_PX + (ROW_PX + LINE_PX * lines) * len(known)
    y = Axis("", low=len(known) - 0.5, high=-0.8, names=names)
    plot = Plot(
        Axis("Difference", "percentage points" if measured.format == "percent" else measured.unit),
        y,
        [Level("", 0.0, "@soft", SOLID, upright=True), *dots],
    )
    return Chart(name, title, says, {"": plot}, numbers, height=height)
