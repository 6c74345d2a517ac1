"""Map of the network of a run (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedradio.report.figures.axes import column, legend, printed, scaled
from fedradio.results.run import Floats

FEW = 300
"""Most clients drawn with outlines, and with their lines to the edges as vectors."""

SMALLEST, LARGEST = 0.12, 1.0
"""Areas of a client that used no energy and of the one that used most, relative to the largest."""


def network_figure(
    network: Mapping[str, Any],
    share: Floats,
    joules: Floats | None = None,
    unit: str = "m",
) -> Figure:
    """Map of clients coloured by the ``share [C]`` of edge rounds in which they arrived and sized by ``joules [C]``."""
    clients, *tiers = [np.array(tier, dtype=np.float64) for tier in network["positions"]]
    most = None if joules is None or joules.max() == 0 else float(joules.max())
    with printed():
        width, height = np.ptp(np.concatenate([clients, *tiers]), axis=0)
        tall = float(np.clip(height / width if width > 0 else 1.0, 0.3, 1.15))
        figure, axes = column(1.0 + 2.8 * tall)
        _wires(axes, clients, tiers, network["parents"])
        largest = float(np.clip(6000 / len(clients), 7, 55))
        area = np.full(len(clients), 0.5) if joules is None or most is None else _area(joules / most)
        x, y = clients.T
        dots = axes.scatter(x, y, s=largest * area, c=100 * share, cmap="viridis", vmin=0, zorder=2)
        dots.set(linewidths=0.3 if len(clients) <= FEW else 0.0, edgecolors="0.2")
        keys = _stations(axes, tiers) + ([] if most is None else _sizes(most, largest))
        axes.grid(visible=False)
        axes.set_aspect("equal")
        axes.margins(0.04)
        axes.set_xlabel(f"x ({unit})")
        axes.set_ylabel(f"y ({unit})")
        axes.tick_params(length=2)
        bar = figure.colorbar(dots, ax=axes, location="bottom", fraction=0.04, pad=0.02, aspect=45)
        bar.set_label("Edge rounds in which the client arrived (%)")
        legend(figure, axes, keys)
    return figure


def _area(share: Floats) -> Floats:
    """Areas of clients by their share of the largest energy."""
    return SMALLEST + (LARGEST - SMALLEST) * share


def _wires(axes: Axes, clients: Floats, tiers: Sequence[Floats], parents: Sequence[Sequence[int]]) -> None:
    """Draw a line from every sender to its receiver."""
    senders = [clients, *tiers[:-1]]
    for hop, (start, end, parent) in enumerate(zip(senders, tiers, parents, strict=True)):
        lines = LineCollection(list(np.stack([start, end[np.array(parent)]], axis=1)), zorder=1)
        lines.set(color="0.6" if hop else "0.8", linestyle="--" if hop else "-", rasterized=len(clients) > FEW)
        lines.set_linewidth(float(np.clip((8 if hop else 150) / len(start), 0.12, 0.7 if hop else 0.5)))
        axes.add_collection(lines)


def _stations(axes: Axes, tiers: Sequence[Floats]) -> list[Line2D]:
    """Draw edges and server; returns their legend keys."""
    for tier in tiers[:-1]:
        axes.plot(*tier.T, "^k", markersize=float(np.clip(40 / len(tier) ** 0.5, 3.5, 6.5)), mec="white", mew=0.5)
    axes.plot(*tiers[-1].T, "sk", markersize=6.5, mec="white", mew=0.5)
    marks = {"edge": "^", "server": "s"} if len(tiers) > 1 else {"server": "s"}
    return [_key(label, marker, 5.5, "black") for label, marker in marks.items()]


def _sizes(most: float, largest: float) -> list[Line2D]:
    """Legend keys of two areas."""
    factor, unit = scaled(most, "J")
    shares = np.array([0.25, 1.0])
    diameters = np.sqrt(largest * _area(shares))
    return [
        _key(f"used {share * most / factor:.2g} {unit}", "o", float(diameter), "0.55")
        for share, diameter in zip(shares, diameters, strict=True)
    ]


def _key(label: str, marker: str, size: float, colour: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, markersize=size, color=colour, label=label)
