"""Charts of a run's diagnosis: drop of the loss, smoothness, gradient noise and client divergence by round."""

from __future__ import annotations

import numpy as np

from fedradio.report.charts.chart import Axis, Line, Plot
from fedradio.report.charts.learning import unlike
from fedradio.report.style import DASHES, MARKERS, Style
from fedradio.results.diagnosis import UNITS, Diagnosis

PANELS = {
    "Drop of the loss": {"drop": "drop"},
    "Smoothness": {"smoothness": "global loss", "client_smoothness": "largest of a client"},
    "Gradient noise": {"noise": "noise"},
    "Client divergence": {"divergence": "clients", "edge_divergence": "edges"},
}
"""The quantities of every panel with the names of their lines."""

COLOURS = ("@blue", "@orange")


def diagnosis_plots(diagnosis: Diagnosis) -> list[Plot]:
    """One plot for each panel; quantities that are undefined in all rounds have no line."""
    plots = []
    for title, quantities in PANELS.items():
        lines = []
        for number, (name, label) in enumerate(quantities.items()):
            known = [(row.t + 1, value) for row in diagnosis.rounds if (value := getattr(row, name)) is not None]
            if known:
                x, y = np.array(known, dtype=np.float64).T
                look = Style(COLOURS[number], DASHES[number], list(MARKERS)[number])
                lines.append(Line(label, x, y, look))
        log = unlike([float(value) for line in lines for value in line.y])
        unit = UNITS[next(iter(quantities))].replace("^2", "²")
        plots.append(Plot(Axis("Round", whole=True), Axis(title, unit, log=log, zero=not log), lines))
    return plots
