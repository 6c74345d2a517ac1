"""The README's first picture: the same learning under four resource policies, against joules and against seconds.

Twenty clients in four urban macro cells hold two digits each; uploads over 540 kHz each must arrive within 0.3 s of the
broadcast. Lines are means over five seeds, bands reach from the lowest to the highest seed.

Run: python examples/first_picture.py (embedded data, about a minute)
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from rich.progress import track

from fedradio import build, iterate, load_spec

POLICIES = {
    "everybody, full power": "{kind: fixed, steps: 10}",
    "everybody, least energy": "{kind: per_client, max_steps: 10}",
    "2 of 5 at random, full power": "{kind: sampling, clients: 2, steps: 10}",
    "2 of 5, planned exactly": "{kind: joint, clients: 2, max_steps: 10}",
}
SEEDS = (1, 2, 3, 4, 5)
ROUNDS = 30


def history(policy: str, seed: int) -> NDArray[np.float64]:
    """Accuracy in per cent, joules and simulated seconds so far after every round, ``[ROUNDS, 3]``."""
    hop = f"{{link: digital, channel: urban_macro, fleet: cellular, policy: {policy}, period: 2, deadline_s: 0.3}}"
    spec = load_spec("demo", [f"hops.0={hop}", f"seed={seed}", "data.partition={kind: shards, pure: true}"])
    rows = [(100 * r.metrics["accuracy"], r.energy_j or 0.0, r.time_s or 0.0) for r in iterate(build(spec), ROUNDS)]
    found = np.array(rows)
    found[:, 1:] = found[:, 1:].cumsum(axis=0)
    return found


def draw(axes: Axes, runs: dict[str, NDArray[np.float64]], column: int, title: str) -> None:
    """A line and a band for every policy, over the mean cost of each round."""
    for name, found in runs.items():
        cost, accuracy = found[:, :, column].mean(axis=0), found[:, :, 0]
        (line,) = axes.plot(cost, accuracy.mean(axis=0), label=name)
        axes.fill_between(cost, accuracy.min(axis=0), accuracy.max(axis=0), color=line.get_color(), alpha=0.15, lw=0)
    axes.set(xlabel=title, xscale="log", ylim=(20, 100))
    axes.grid(alpha=0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/first.png"))
    options = parser.parse_args()
    runs = {
        name: np.stack([history(policy, seed) for seed in SEEDS]) for name, policy in track(POLICIES.items(), "running")
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    draw(left, runs, 1, "energy of all devices in joules")
    draw(right, runs, 2, "simulated time in seconds")
    left.set_ylabel("test accuracy in %")
    right.legend(loc="lower right", fontsize="small")
    figure.savefig(options.out, dpi=160)
    for name, found in runs.items():
        accuracy, joules, seconds = found[:, -1].mean(axis=0)
        print(f"{name:30}  accuracy {accuracy:.1f} %  {joules:.3g} J  {seconds:.3g} s")
    print(options.out)


if __name__ == "__main__":
    main()
