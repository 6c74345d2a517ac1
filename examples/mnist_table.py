"""The README's table: FedAvg and its cousins on MNIST, mean and spread over seeds.

Needs `fedradio data fetch mnist`. Run: python examples/mnist_table.py [--seeds 3]
"""

from __future__ import annotations

import argparse
import statistics

from rich.progress import track

from fedradio import build, iterate, load_spec

ROUNDS = (10, 20, 50)
ROWS = {
    "i.i.d., fedavg": ("mnist_iid", ()),
    "two labels, fedavg": ("mnist_shards", ()),
    "two labels, fedprox (mu .1)": ("mnist_shards", ("algorithm={kind: fedprox, mu: 0.1}",)),
    "two labels, fednova": ("mnist_shards", ("algorithm=fednova",)),
    "two labels, scaffold": ("mnist_shards", ("algorithm=scaffold",)),
    "all data in one place": ("mnist_iid", ("algorithm={kind: central, steps: 380}",)),
}


def main() -> None:
    """Run every row for every seed and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(1, parser.parse_args().seeds + 1)
    work = [(name, spec, overrides, seed) for name, (spec, overrides) in ROWS.items() for seed in seeds]
    found: dict[str, list[list[float]]] = {name: [] for name in ROWS}
    for name, spec, overrides, seed in track(work, "running"):
        sim = build(load_spec(spec, [*overrides, f"seed={seed}"]))
        found[name].append([100 * record.metrics["accuracy"] for record in iterate(sim, max(ROUNDS))])
    print(f"| accuracy in %, {len(seeds)} seeds | " + " | ".join(f"round {t}" for t in ROUNDS) + " |")
    print("|---|" + "---|" * len(ROUNDS))
    for name, curves in found.items():
        cells = []
        for t in ROUNDS:
            values = [curve[t - 1] for curve in curves]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{statistics.mean(values):.1f} ± {spread:.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
