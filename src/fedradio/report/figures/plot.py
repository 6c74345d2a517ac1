"""The figure behind ``run.plot()`` and ``sweep.plot()``: mean curves of a metric against a cost."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.report.figures.gallery import curve_drawings
from fedradio.results.quantities import axes
from fedradio.results.run import Run, undamaged
from fedradio.results.variants import variants


def plot(runs: Sequence[Run], metric: str = "accuracy", against: str = "rounds", target: float | None = None) -> Figure:
    """Curves of a metric against ``rounds``, ``seconds``, ``joules``, ``bits`` or ``uses``: means over the seeds of
    every variant with their intervals, a line at the ``target``. Of several runs the complete ones are drawn.

    The figure shows itself in a notebook; ``figure.savefig("curve.pdf")`` writes it.
    """
    known = [each.name for each in axes()]
    if against not in known:
        raise SpecError(Problem("against", "no such axis", f"one of: {', '.join(known)}", against))
    whole = undamaged(runs)
    drawn = whole if len(runs) == 1 else [run for run in whole if run.status == "complete"]
    if not drawn:
        raise StoreError("there is no complete run to draw")
    drawing = next(iter(curve_drawings(variants(drawn), metric, (against,), target)), None)
    if drawing is None or drawing.make is None:
        measured = ", ".join(drawn[0].metrics()) or "nothing"
        why = f"{against} are undefined" if drawing is None else drawing.why
        raise SpecError(Problem("plot", why, f"measured in these runs: {measured}", f"{metric} against {against}"))
    figure = drawing.make()
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]  # what notebooks ask for
    return figure


def _png(figure: Figure) -> bytes:
    """The figure as a picture for a notebook."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()
