"""The figure of runs in Python."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError, StoreError
from fedradio.report.figures.choice import figures
from fedradio.report.figures.plot import plot
from fedradio.results.figure_options import FigureOptions
from fedradio.results.made import run
from fedradio.results.run import Run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def test_a_run_without_a_folder_is_drawn(cells: Make) -> None:
    made = run(cells())
    figure = made.plot("loss", against="joules", target=1.0)
    assert figure._repr_png_().startswith(b"\x89PNG")
    drawn = figure.axes[0].lines[0].get_ydata()
    assert drawn.tolist() == [each.metrics["loss"] for each in made.evaluations]


def test_what_cannot_be_drawn(tiny: Make) -> None:
    made = run(tiny())
    with pytest.raises(SpecError, match=r"--against.*no such axis"):
        made.plot(against="days")
    with pytest.raises(SpecError, match="f1"):
        made.plot("f1")
    with pytest.raises(SpecError, match="seconds are undefined"):
        made.plot(against="seconds")
    with pytest.raises(StoreError, match="no run is complete"):
        plot([Run(Path("a"), tiny(), None), Run(Path("b"), tiny(), None)])


def test_it_has_the_options_of_figures(tiny: Make) -> None:
    """The same figure as that of ``figures``: names, order and what is left out."""
    runs = [run(tiny(f"algorithm={kind}")) for kind in ("fedavg", "fedprox", "scaffold")]
    options: FigureOptions = {"labels": {"fedprox": "FedProx"}, "order": ["scaffold"], "without": ["fedavg"]}
    figure = plot(runs, target=0.5, **options)
    (same,) = figures(*runs, metric="accuracy", against="rounds", target=0.5, **options).values()
    for each in (figure, same):
        assert [text.get_text() for text in each.legends[0].get_texts()] == ["scaffold", "FedProx"]
    assert figure._repr_png_()
    assert runs[0].plot(labels={"tiny": "Ours"}).legends[0].get_texts()[0].get_text() == "Ours"
