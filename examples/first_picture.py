"""The README's first picture: what an edge tier buys, in accuracy against uplink bits to the server.

Run: python examples/first_picture.py (embedded data, about half a minute)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.progress import track

from fedradio import build, curves, iterate, load_spec, save_figure

SETTINGS = {
    "fedavg, straight to the server": (
        "topology={kind: flat, clients: 20}",
        "hops=[{policy: {kind: fixed, epochs: 1}}]",
    ),
    "fedavg, edges, 1 edge round": ("hops.0.period=1",),
    "fedavg, edges, 4 edge rounds": ("hops.0.period=4",),
    "scaffold, edges, 4 edge rounds": ("hops.0.period=4", "algorithm=scaffold"),
}
SEEDS = (1, 2, 3)
ROUNDS = 40


def main() -> None:
    """Mean over seeds of accuracy against the bits that reached the server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/first.png"))
    series = {}
    options = parser.parse_args()
    for name, overrides in track(SETTINGS.items(), "running"):
        accuracy, megabits = [0.0] * ROUNDS, [0.0] * ROUNDS
        for seed in SEEDS:
            total = 0.0
            spec = load_spec("demo", [*overrides, f"seed={seed}", "data.partition={kind: shards, pure: true}"])
            for t, record in enumerate(iterate(build(spec), ROUNDS)):
                total += record.bits[-1] or 0.0
                accuracy[t] += 100 * record.metrics["accuracy"] / len(SEEDS)
                megabits[t] += total / 1e6 / len(SEEDS)
        series[name] = (megabits, accuracy)
    figure = curves(series, "uplink to the server in Mbit", "test accuracy in %", "20 clients with two labels each")
    figure.axes[0].set_xlim(0, max(series["fedavg, edges, 4 edge rounds"][0]))
    save_figure(figure, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
