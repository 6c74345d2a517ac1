"""Figures of one run (matplotlib): map of the network, participation of the clients, spread of their accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from fedradio.core.contracts import Reason
from fedradio.report.figures.axes import column, empty, legend, metric_axis, printed, scaled, whole_numbers
from fedradio.report.figures.design import COLUMN, Design
from fedradio.results.run import Floats

REASONS = {
    Reason.NONE: ("arrived", "#009E73"),
    Reason.NOT_SELECTED: ("not selected", "#E2E2E2"),
    Reason.ENERGY: ("energy", "#E69F00"),
    Reason.DEADLINE: ("deadline", "#D55E00"),
    Reason.OUTAGE: ("outage", "#CC79A7"),
    Reason.NO_DATA: ("no data", "#56B4E9"),
    Reason.NO_NEWS: ("no new data", "#0072B2"),
    Reason.CRASHED: ("crashed", "#000000"),
}
"""Label and colour of every reason why a client's payload did not count, and of its arrival."""

MOST_PIXELS = 400
"""Most rows and columns of a heat map; if there are more, neighbours are averaged."""

MOST_BARS = 100
"""Most bars of stacked edge rounds; if there are more, neighbours are averaged."""

MOST_EDGES = 12
"""Most edges whose clients are separated by lines in a heat map."""

FEW = 300
"""Most clients drawn with outlines, and with their lines to the edges as vectors."""

SMALLEST, LARGEST = 0.12, 1.0
"""Areas of a client that used no energy and of the one that used most, relative to the largest."""


def network_figure(
    network: Mapping[str, Any],
    share: Floats,
    joules: Floats | None = None,
    unit: str = "m",
    design: Design = COLUMN,
) -> Figure:
    """Map of clients coloured by the ``share [C]`` of edge rounds in which they arrived and sized by ``joules [C]``."""
    clients, *tiers = [np.array(tier, dtype=np.float64) for tier in network["positions"]]
    most = None if joules is None or joules.max() == 0 else float(joules.max())
    with printed(design):
        width, height = np.ptp(np.concatenate([clients, *tiers]), axis=0)
        tall = float(np.clip(height / width if width > 0 else 1.0, 0.3, 1.15))
        figure, axes = empty(design, 1.0 + 2.8 * tall)
        _wires(axes, clients, tiers, network["parents"])
        largest = float(np.clip(6000 / len(clients), 7, 55))
        area = np.full(len(clients), 0.5) if joules is None or most is None else _area(joules / most)
        x, y = clients.T
        dots = axes.scatter(x, y, s=largest * area, c=100 * share, cmap="viridis", vmin=0, zorder=2)
        dots.set(linewidths=0.3 if len(clients) <= FEW else 0.0, edgecolors="0.2")
        keys = _stations(axes, tiers) + ([] if most is None else _sizes(most, largest))
        axes.set_aspect("equal")
        axes.margins(0.04)
        axes.set_xlabel(f"x ({unit})")
        axes.set_ylabel(f"y ({unit})")
        axes.tick_params(length=2)
        bar = figure.colorbar(dots, ax=axes, location="bottom", fraction=0.04, pad=0.02, aspect=45)
        bar.set_label("Edge rounds in which the client arrived (%)")
        legend(figure, axes, keys, design)
    return figure


def selection_figure(reason: NDArray[np.int8], parent: Sequence[int] | None = None, design: Design = COLUMN) -> Figure:
    """Heat map of every client in every edge round, ``reason [E, C]``, clients sorted by their ``parent [C]``.

    If there are more clients than rows in the picture, also by how often they arrived.
    """
    rounds, clients = reason.shape
    edges = np.zeros(clients, dtype=np.int64) if parent is None else np.array(parent)
    many, grouped = clients > MOST_PIXELS, 1 < edges.max() + 1 <= MOST_EDGES
    arrived = (reason == Reason.NONE).sum(axis=0) if many else np.zeros(clients)
    order = np.lexsort((-arrived, edges if grouped or not many else np.zeros(clients)))
    palette = np.array([to_rgb(REASONS[why][1]) for why in Reason])
    image = binned(binned(palette[reason[:, order]], MOST_PIXELS).swapaxes(0, 1), MOST_PIXELS)  # [C, E, 3]
    with printed(design):
        figure, axes = empty(design, 2.6)
        extent = (0.5, rounds + 0.5, clients - 0.5, -0.5)
        axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent)
        whole_numbers(axes.xaxis)
        whole_numbers(axes.yaxis)
        axes.set_xlabel("Edge round")
        axes.set_ylabel("Clients, sorted by number of arrivals" if many else "Client")
        axes.tick_params(length=2)
        if grouped:
            _separate(axes, edges[order])
        legend(figure, axes, _reason_keys(reason), design)
    return figure


def reasons_figure(reason: NDArray[np.int8], design: Design = COLUMN) -> Figure:
    """Stacked counts of clients by reason in every edge round, ``reason [E, C]``."""
    counts = np.stack([(reason == why).sum(axis=1) for why in REASONS], axis=1).astype(np.float64)  # [E, reasons]
    ends = np.unique(np.linspace(0, len(reason), min(len(reason), MOST_BARS) + 1).round().astype(int)) + 0.5
    means = binned(counts, MOST_BARS)
    with printed(design):
        figure, axes = column(design)
        floor = np.zeros(len(means))
        for number, (_, colour) in enumerate(REASONS.values()):
            top = floor + means[:, number]
            axes.stairs(top, ends, baseline=floor, fill=True, color=colour, linewidth=0, zorder=2)
            floor = top
        axes.set_xlim(ends[0], ends[-1])
        axes.set_ylim(0, reason.shape[1])
        whole_numbers(axes.xaxis)
        axes.set_xlabel("Edge round")
        axes.set_ylabel("Clients")
        legend(figure, axes, _reason_keys(reason), design)
    return figure


def spread_rounds_figure(
    rounds: Sequence[int], values: Floats, colour: str, metric: str = "accuracy", design: Design = COLUMN
) -> Figure:
    """Quantile bands over clients of a metric at every evaluation, ``values [evaluations, C]`` (NaN: no samples)."""
    scale, y_label = metric_axis(metric)
    levels = scale * np.nanquantile(values, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1], axis=1)
    with printed(design):
        figure, axes = column(design)
        tints = {"all clients": (0, 6, 0.15), "middle 80 %": (1, 5, 0.35), "middle 50 %": (2, 4, 0.6)}
        for label, (low, high, amount) in tints.items():
            tint = tuple(1 - amount * (1 - channel) for channel in to_rgb(colour))
            axes.fill_between(rounds, levels[low], levels[high], color=tint, linewidth=0, label=label)
        marker = "o" if len(rounds) == 1 else None
        axes.plot(rounds, levels[3], color=colour, linewidth=1.3, label="median client", marker=marker)
        whole_numbers(axes.xaxis)
        axes.set_xlabel("Round")
        axes.set_ylabel(y_label)
        legend(figure, axes, design=design)
    return figure


def binned(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Means of neighbours along the first axis, so that at most ``most`` are left."""
    if len(values) <= most:
        return values
    starts = np.linspace(0, len(values), most + 1).round().astype(int)[:-1]
    sizes = np.diff([*starts, len(values)]).reshape(-1, *[1] * (values.ndim - 1))
    means: NDArray[np.float64] = np.add.reduceat(values, starts, axis=0) / sizes
    return means


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


def _separate(axes: Axes, edges: NDArray[np.int64]) -> None:
    """Draw lines between the clients of different edges, with the numbers of the edges next to them."""
    starts = np.flatnonzero(np.diff(edges, prepend=-1))
    for start in starts[1:]:
        axes.axhline(start - 0.5, color="black", linewidth=0.6)
    middles = (starts + np.append(starts[1:], len(edges)) - 1) / 2
    axes.set_yticks(middles, [str(edges[start]) for start in starts])
    axes.set_ylabel("Clients of edge")


def _reason_keys(reason: NDArray[np.int8]) -> list[Patch]:
    """Legend keys of the reasons that occur."""
    present = set(np.unique(reason).tolist())
    return [Patch(color=colour, label=label) for why, (label, colour) in REASONS.items() if int(why) in present]
