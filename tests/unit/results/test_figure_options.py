"""The options of ``plot()`` are those of ``figures()``."""

from inspect import signature

from fedradio.report.figures.choice import figures
from fedradio.results.figure_options import FigureOptions


def test_every_option_of_figures_is_one_of_plot() -> None:
    others = {"sources", "metric", "against", "only", "target"}
    assert FigureOptions.__annotations__.keys() == signature(figures).parameters.keys() - others
