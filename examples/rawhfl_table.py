"""RawHFL and its baselines in two tables: joules of planning at paper scale, accuracy at quick scale.

Joules are those of both path losses out of sight; with --algorithm-2 also of the paper's own solver, which takes some
minutes a world.

Run: python examples/rawhfl_table.py [--seeds 3] [--only energy|learning] (embedded data; some minutes)
"""

from __future__ import annotations

import argparse
import statistics

from rich.progress import track

from fedradio import begin, build, iterate, load_spec, plan_slots, planned_j

ROUNDS = 100
FULL = "hops.0.policy.mode=paper"
PRINTED = ("hops.0.policy.mode=dc", "hops.0.policy.rho=1")
OPTIONAL = "hops.0.channel={kind: urban_macro, nlos: optional}"
ENERGY = {
    "H-FedAvg-UB": ("ub", (), "13836"),
    "H-FedAvg-M2, common minimum": ("m2", (), "-"),
    "H-FedAvg-M2, own steps": ("m2", ("hops.0.policy.share=own",), "11226"),
    "H-FedAvg-M1": ("m1", (), "490"),
    "FedAvg-UB": ("fedavg_ub", (), "3456"),
    "RawHFL Z=2, full power": ("z2", (FULL, "hops.0.policy.overlap=2"), "1508"),
    "RawHFL Z=4, full power": ("z4", (FULL, "hops.0.policy.overlap=4"), "2848"),
    "RawHFL Z=6, full power": ("z6", (FULL, "hops.0.policy.overlap=6"), "4138"),
    "RawHFL Z=2, exact": ("z2", (), "-"),
    "RawHFL Z=4, exact": ("z4", (), "-"),
    "RawHFL Z=6, exact": ("z6", (), "-"),
}
ALGORITHM_2 = {
    f"RawHFL Z={z}, Algorithm 2": (f"z{z}", (*PRINTED, f"hops.0.policy.overlap={z}"), paper)
    for z, paper in ((2, "1508"), (4, "2848"), (6, "4138"))
}
LEARNING = {
    "RawHFL Z=2": "z2",
    "RawHFL Z=4": "z4",
    "RawHFL Z=6": "z6",
    "H-FedAvg-UB": "ub",
    "H-FedAvg-M2": "m2",
    "H-FedAvg-M1": "m1",
    "FedAvg-UB (flat)": "fedavg_ub",
    "Central-SGD": "central",
}


def spread(values: list[float], digits: int = 1) -> str:
    """Mean and standard deviation for people."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def energy(name: str, overrides: tuple[str, ...], seed: int) -> float:
    """Joules of 400 planned edge rounds."""
    sim = build(load_spec(f"rawhfl/paper/{name}", [f"seed={seed}", *overrides]))
    planned = [planned_j(plan) for plan in plan_slots(sim, begin(sim), ROUNDS)]
    return sum(float(joules.sum()) for joules in planned if joules is not None)


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("energy", "learning"))
    parser.add_argument("--algorithm-2", action="store_true", help="joules of the paper's own solver too")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    if options.only != "learning":
        print(f"| joules of 400 edge rounds, {len(seeds)} worlds | ours | optional loss | paper |\n|---|---|---|---|")
        rows = ENERGY | (ALGORITHM_2 if options.algorithm_2 else {})
        for title, (name, overrides, paper) in track(rows.items(), "planning"):
            both = [[energy(name, (*more, *overrides), seed) for seed in seeds] for more in ((), (OPTIONAL,))]
            print(f"| {title} | {' | '.join(map(spread, both))} | {paper} |")
    if options.only != "energy":
        print(f"| accuracy in %, {len(seeds)} seeds | round 2 | round 4 | round 6 | joules |\n|---|---|---|---|---|")
        for title, name in track(LEARNING.items(), "learning"):
            runs = [list(iterate(build(load_spec(f"rawhfl/quick/{name}", [f"seed={s}"])), 6)) for s in seeds]
            cells = [spread([100 * run[t - 1].metrics["accuracy"] for run in runs]) for t in (2, 4, 6)]
            joules = [sum(record.energy_j for record in run if record.energy_j is not None) for run in runs]
            defined = runs[0][0].energy_j is not None
            print(f"| {title} | {' | '.join(cells)} | {spread(joules, 2) if defined else '-'} |")


if __name__ == "__main__":
    main()
