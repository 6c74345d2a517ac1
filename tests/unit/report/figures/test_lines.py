"""Curves of groups of runs as figures."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.past import past

from fedradio.report.charts.chart import Chart, Group
from fedradio.report.charts.learning import learning
from fedradio.report.figures.axes import COLUMN_IN, save_figure
from fedradio.report.figures.draw import draw
from fedradio.report.figures.gallery import looks_of
from fedradio.report.style import style
from fedradio.results.client_states import StateReader
from fedradio.results.digest import Digest
from fedradio.results.run import Run
from fedradio.results.variants import Variant
from fedradio.spec.spec import Spec


def flat(level: float, metric: str = "accuracy") -> Digest:
    x, t = np.linspace(0, 10, 5), np.arange(5)
    totals = {"rounds": x, "joules": x}
    return Digest(StateReader(2).states(), totals=totals, series={metric: (t, np.full(5, level))})


def groups(
    *levels: float | list[float], metric: str = "accuracy", labels: tuple[str, ...] = ("one", "two")
) -> list[Group]:
    looks = looks_of([Variant(label, kind, {}) for label, kind in zip(labels, ("fedavg", "fedprox"), strict=True)])
    each = [level if isinstance(level, list) else [level] for level in levels]
    return [
        Group(label, looks[label], [flat(one, metric) for one in some])
        for label, some in zip(labels, each, strict=False)
    ]


def drawn(found: list[Group], metric: str = "accuracy", against: str = "rounds", **more: object) -> Figure:
    chart = learning(found, metric, (against,), **more)  # type: ignore[arg-type]
    assert isinstance(chart, Chart)
    return draw(chart.plots[against])


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_curves_have_units_percent_bands_and_the_algorithms_colours() -> None:
    figure = drawn(groups([0.4, 0.6], 0.7), against="joules", target=0.6)
    axes = figure.axes[0]
    assert labels(figure) == ("Energy of all clients (J)", "Test accuracy (%)")
    assert words_of(figure) == ["one", "two"]
    assert axes.lines[0].get_ydata()[0] == pytest.approx(50)  # type: ignore[index]
    assert [line.get_color() for line in axes.lines[:2]] == [style("fedavg").colour, style("fedprox").colour]
    assert axes.lines[2].get_ydata()[0] == pytest.approx(60)  # type: ignore[index]
    assert len(axes.collections) == 1  # one seed alone has no band
    assert figure.get_figwidth() == COLUMN_IN


def test_a_metric_has_the_unit_that_runs_declare(tiny: Callable[..., Spec]) -> None:
    run: Run = past(tiny(), [0.5])
    run.__dict__["declared_metrics"] = {"regret": {"unit": "m$", "better": "less"}}
    some = groups(0.5, metric="regret")
    assert labels(drawn(some, "regret", runs=[run]))[1] == r"Regret (m\$)"
    assert labels(drawn(some, "regret"))[1] == "Regret"


def test_the_legend_is_outside_the_data_and_absent_for_one_curve() -> None:
    assert drawn(groups(0.5)).legends == []
    figure = drawn(groups(0.5, 0.7))
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_many_long_labels_make_the_figure_higher_and_not_wider() -> None:
    some = [Variant(f"rule.lr={n}, " + "some.other.key=17, " * 4, "fedavg", {}) for n in range(9)]
    figure = drawn([Group(label, look, [flat(0.5)]) for label, look in looks_of(some).items()])
    figure.draw_without_rendering()
    extent = figure.legends[0].get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().height > 100


def test_names_from_elsewhere_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Not read as mathematics, which would fail, and without control characters."""
    names = ("$\\frac{$ \x1b[31m", "$\\undefined^^$")
    figure = drawn(groups(0.5, 0.6, metric="$\\frac{$", labels=names), "$\\frac{$")
    save_figure(figure, tmp_path / "a.png")
    assert words_of(figure) == ["\\$\\frac{\\$ [31m", "\\$\\undefined^^\\$"]
