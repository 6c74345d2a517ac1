"""The README's first picture: the same learning under five resource policies, against joules and against seconds.

Twenty handsets in four urban macro cells hold two digits each; uploads over 540 kHz must each arrive within 0.3 s of
the broadcast. Lines are means over five seeds, bands reach from the lowest to the highest seed. The program prints the
means at the end, how many clients arrived in an edge round, and how many ever arrived.

Run: python examples/first_picture.py (embedded data, about a minute); --redraw exchange draws sight and shadowing anew
in every exchange, as if clients moved to new places.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import track

from fedradio import begin, build, load_spec, run_round, save_figure
from fedradio.report.charts.chart import Axis, Line, Plot
from fedradio.report.figures.axes import legend, printed
from fedradio.report.figures.draw import draw_panels, ink
from fedradio.report.style import DASH_DOT, DOT, LONG, SHORT, SOLID, Style

POLICIES = {
    "everybody, full power": ("{kind: fixed, steps: 10}", Style("@blue", SOLID, "o")),
    "everybody, least energy": ("{kind: per_client, max_steps: 10}", Style("@orange", LONG, "s")),
    "2 of 5 at random, full power": ("{kind: sampling, clients: 2, steps: 10}", Style("@green", SHORT, "^")),
    "2 of 5, planned": ("{kind: joint, clients: 2, max_steps: 10, overlap: 2}", Style("@red", DASH_DOT, "D")),
    "2 of 5, planned, never twice in a row": (
        "{kind: joint, clients: 2, max_steps: 10, overlap: 0}",
        Style("@purple", DOT, "v"),
    ),
}
COSTS = {1: ("Energy of all clients", "J"), 2: ("Simulated time", "s")}
"""Column of a history -> title and unit."""

BELOW: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 6.5}
LOWER = {"everybody, full power": 27, "2 of 5, planned": 20}
"""Points between a line's end and its numbers, where others stand beside it; else 8."""

SEEDS = tuple(range(1, 6))
ROUNDS = 30


def history(policy: str, world: tuple[str, ...]) -> tuple[NDArray[np.float64], list[set[int]]]:
    """Accuracy in per cent, joules and simulated seconds so far after every round, ``[ROUNDS, 3]``; the clients that
    arrived in each edge round."""
    sim = build(load_spec("demo", [f"hops.0.policy={policy}", "data.partition={kind: shards, pure: true}", *world]))
    state, rows, arrived = begin(sim), [], []
    for _ in range(ROUNDS):
        state, record, exchanges = run_round(sim, state)
        rows.append((100 * record.metrics["accuracy"], record.energy_j or 0.0, record.time_s or 0.0))
        arrived += [{i for i, here in zip(x.ids, x.arrived, strict=True) if here} for x in exchanges if x.hop == 0]
    found = np.array(rows)
    found[:, 1:] = found[:, 1:].cumsum(axis=0)
    return found, arrived


def drawn(name: str, found: NDArray[np.float64], column: int) -> Line:
    """A policy's line with its band: accuracy over the cost in a column of its histories, ``[seeds, ROUNDS, 3]``."""
    accuracy, cost = found[:, :, 0], found[:, :, column].mean(axis=0)
    return Line(name, cost, accuracy.mean(axis=0), POLICIES[name][1], accuracy.min(axis=0), accuracy.max(axis=0))


def picture(runs: dict[str, NDArray[np.float64]]) -> Figure:
    """A panel for each cost, with the mean of every policy written below its end.

    ``runs``: accuracy, joules and seconds, ``[seeds, ROUNDS, 3]`` for each policy.
    """
    panels = {unit: [drawn(name, found, column) for name, found in runs.items()] for column, (_, unit) in COSTS.items()}
    accuracy = Axis("Test accuracy", "%", low=20, high=100)
    figure = draw_panels([Plot(Axis(*cost, zero=True), accuracy, panels[cost[1]]) for cost in COSTS.values()])
    for axes, (unit, lines) in zip(figure.axes, panels.items(), strict=True):
        axes.legend().remove()
        for line in lines:
            x, y = float(line.x[-1]), float(line.y[-1])
            place = (0, -LOWER.get(line.name, 8))
            axes.annotate(f"{x:.3g} {unit}\n{y:.1f} %", (x, y), place, color=ink(line.style.colour), **BELOW)
    with printed():
        legend(figure, figure.axes[0])
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images/first.png"))
    parser.add_argument("--redraw", choices=("place", "never", "exchange"), default="place")
    parser.add_argument("--deadline", type=float, default=0.3, help="of uploads, in seconds")
    options = parser.parse_args()
    world = (f"hops.0.channel.redraw={options.redraw}", f"hops.0.deadline_s={options.deadline}")
    print(f"20 handsets, deadline {options.deadline} s, redraw {options.redraw}, seeds 1 to {len(SEEDS)}, means:")
    runs = {}
    for name, (policy, _) in track(POLICIES.items(), "running"):
        found, arrived = zip(*(history(policy, (*world, f"seed={seed}")) for seed in SEEDS), strict=True)
        runs[name] = np.stack(found)
        accuracy, joules, seconds = runs[name][:, -1].mean(axis=0)
        each = np.mean([len(clients) for rounds in arrived for clients in rounds])
        ever = np.mean([len(set.union(*rounds)) for rounds in arrived])
        print(f"{name:38}  accuracy {accuracy:.1f} %  {joules:.3g} J  {seconds:.3g} s", end="  ")
        print(f"{each:.2f} of 20 arrived, {ever:.1f} of 20 ever")
    save_figure(picture(runs), options.out)
    print(options.out)


if __name__ == "__main__":
    main()
