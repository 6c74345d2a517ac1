"""Accuracies of several specs after some rounds, mean and spread over paired worlds, as Markdown.

    python examples/accuracy_table.py --specs osafl/quick/osafl,osafl/quick/fedavg --rounds 10,30,60
    python examples/accuracy_table.py --specs whfl/mnist/iid/i1,whfl/mnist/iid/flat --rounds 400 --worlds 8 \
        --vary topology.layout

A world is a seed, or whatever ``--vary`` names (0, 1, 2, ... of it, or 1, 2, 3, ... of the seed).
"""

from __future__ import annotations

import argparse
import statistics

from rich.progress import Progress

from fedradio import begin, build, load_spec, run_round


def curve(spec: str, overrides: list[str], at: list[int], bar: Progress) -> list[float]:
    """Accuracy in percent after each of these rounds."""
    sim = build(load_spec(spec, overrides))
    state, accuracies = begin(sim), []
    for done in bar.track(range(1, max(at) + 1), description=f"{spec} {overrides[-1]}"):
        state, record, _ = run_round(sim, state, evaluate=done in at)
        if done in at:
            accuracies.append(100 * record.metrics["accuracy"])
    return accuracies


def cell(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} ± {spread:.1f}"


def main() -> None:
    """Run every spec in every world and print one row each, then the single worlds for those who pair them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--specs", required=True, help="names or files, separated by commas")
    parser.add_argument("--rounds", default="10", help="after which rounds, separated by commas")
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--vary", default="seed")
    parser.add_argument("overrides", nargs="*", help="key=value for every spec")
    args = parser.parse_args()
    at = sorted({int(t) for t in args.rounds.split(",")})
    first = 1 if args.vary == "seed" else 0
    results: dict[str, list[list[float]]] = {}
    with Progress(transient=True) as bar:
        for spec in args.specs.split(","):
            worlds = [f"{args.vary}={first + world}" for world in range(args.worlds)]
            results[spec] = [curve(spec, [*args.overrides, world], at, bar) for world in worlds]
    print(f"| accuracy in %, {args.worlds} of {args.vary} | " + " | ".join(f"round {t}" for t in at) + " |")
    print("|---|" + "---|" * len(at))
    for spec, curves in results.items():
        print(f"| {spec} | " + " | ".join(cell(list(values)) for values in zip(*curves, strict=True)) + " |")
    for spec, curves in results.items():
        print(f"\n{spec}: " + "; ".join(" ".join(f"{value:.1f}" for value in values) for values in curves))


if __name__ == "__main__":
    main()
