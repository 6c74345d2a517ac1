"""Learning curves of a run or of the variants of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from fedradio.report.charts.chart import Chart, Group
from fedradio.report.charts.learning import learning, main_of
from fedradio.report.page.chart import chart_section
from fedradio.report.page.html import Html, paragraph, section
from fedradio.results.quantities import axes


def learning_section(groups: Sequence[Group]) -> Html:
    """The section of learning curves, with a switch for their axis, and why axes are missing."""
    known = [group for group in groups if group.runs]
    found = [learning(known, name) for name in (main_of(known), "loss")] if known else []
    drawn = [chart for chart in found if isinstance(chart, Chart)]
    if not drawn:
        why = "No evaluation is on record." if known else "No run is complete yet."
        return section("learning", "Learning", paragraph(why, class_="absent"))
    missing = [each.absent for each in axes() if each.absent and each.name not in drawn[0].plots]
    return chart_section(
        "learning", "Learning", drawn, paragraph(" ".join(missing), class_="aside") if missing else None
    )
