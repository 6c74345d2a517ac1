"""The figure behind ``run.plot()`` and ``sweep.plot()``: mean curves of a metric against a cost."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import Unpack

from matplotlib.figure import Figure

from fedradio.report.figures.choice import figures
from fedradio.results.compare import main_metric
from fedradio.results.figure_options import FigureOptions
from fedradio.results.run import Run


def plot(
    runs: Sequence[Run],
    metric: str | None = None,
    against: str = "rounds",
    target: float | None = None,
    **options: Unpack[FigureOptions],
) -> Figure:
    """Curves of a metric (by default the main score) against ``rounds``, ``seconds``, ``joules``, ``bits`` or ``uses``:
    means over the seeds of every variant with their intervals, a line at the ``target``. Of several runs the complete
    ones are drawn.

    The figure shows itself in a notebook; ``figure.savefig("curve.pdf")`` writes it.
    """
    (figure,) = figures(
        *runs, metric=metric or main_metric(runs), against=(against,), target=target, **options
    ).values()
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]  # what notebooks ask for
    return figure


def _png(figure: Figure) -> bytes:
    """The figure as a picture for a notebook."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()
