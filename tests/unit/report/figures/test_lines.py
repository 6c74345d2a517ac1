"""Curves, distributions and spreads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.past import past

from fedradio.report.figures.axes import save
from fedradio.report.figures.design import COLUMN_IN
from fedradio.report.figures.gallery import looks_of
from fedradio.report.figures.lines import curves_figure
from fedradio.report.style import style
from fedradio.results.statistics import Band
from fedradio.results.variants import Variant
from fedradio.spec.spec import Spec

LOOKS = looks_of([Variant("one", "fedavg", {}), Variant("two", "fedprox", {})])


def flat_band(level: float, n: int = 3, x: float = 10.0) -> Band:
    mean = np.full(5, level)
    return Band(np.linspace(0, x, 5), mean, mean - 0.1, mean + 0.1, n)


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_curves_have_units_percent_bands_and_the_algorithms_colours() -> None:
    figure = curves_figure({"one": flat_band(0.5), "two": flat_band(0.7, n=1)}, LOOKS, "accuracy", "joules", target=0.6)
    axes = figure.axes[0]
    assert labels(figure) == ("Energy of all clients (J)", "Test accuracy (%)")
    assert words_of(figure) == ["one", "two"]
    assert axes.lines[0].get_ydata()[0] == pytest.approx(50)
    assert [line.get_color() for line in axes.lines[:2]] == [style("fedavg").colour, style("fedprox").colour]
    assert axes.lines[2].get_ydata()[0] == pytest.approx(60)
    assert len(axes.collections) == 1  # one seed alone has no band
    assert figure.get_figwidth() == COLUMN_IN


def test_a_metric_has_the_unit_that_runs_declare(tiny: Callable[..., Spec]) -> None:
    run = past(tiny(), [0.5])
    run.__dict__["declared_metrics"] = {"regret": {"unit": "m$", "better": "less"}}
    assert labels(curves_figure({"one": flat_band(0.5)}, LOOKS, "regret", runs=[run]))[1] == r"Regret (m\$)"
    assert labels(curves_figure({"one": flat_band(0.5)}, LOOKS, "regret"))[1] == "Regret"


def test_the_legend_is_outside_the_data_and_absent_for_one_curve() -> None:
    assert curves_figure({"one": flat_band(0.5)}, LOOKS).legends == []
    figure = curves_figure({"one": flat_band(0.5), "two": flat_band(0.7)}, LOOKS)
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_many_long_labels_make_the_figure_higher_and_not_wider() -> None:
    some = [Variant(f"rule.lr={n}, " + "some.other.key=17, " * 4, "fedavg", {}) for n in range(9)]
    figure = curves_figure({cell.label: flat_band(0.5) for cell in some}, looks_of(some))
    figure.draw_without_rendering()
    extent = figure.legends[0].get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().height > 100


def test_names_from_elsewhere_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Not read as mathematics, which would fail, and without control characters."""
    names = ["$\\frac{$ \x1b[31m", "$\\undefined^^$"]
    looks = looks_of([Variant(name, "fedavg", {}) for name in names])
    figure = curves_figure({name: flat_band(0.5) for name in names}, looks, "$\\frac{$", "rounds")
    save(figure, tmp_path / "a.png")
    assert words_of(figure) == ["\\$\\frac{\\$ [31m", "\\$\\undefined^^\\$"]
