"""Joules of RawHFL's edge rounds by policy and by hardware, with and without RawHFL's energy budget.

Seven policies plan the edge rounds of the first round of the spec `rawhfl` (hop 0: 4 cells of 12 clients, 150 s, at
most 50 local steps) on four fleets, with the spec's cycles per bit. Every policy sees the same clients and the same
gains. Nothing is trained.

Run: python examples/fleet_table.py [--seeds 5] [--fleets handset,iot] (embedded data, a minute); prints Markdown
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.progress import track

from fedradio import begin, build, load_spec, plan_slots, planned_j
from fedradio.rounds.planning import Planned

FLEETS = ("cellular", "handset", "iot", "vehicle")
POLICIES = {
    "joint, optimal": "{kind: joint, clients: 4, max_steps: 50}",
    "joint, dc": "{kind: joint, clients: 4, max_steps: 50, mode: dc}",
    "joint, paper": "{kind: joint, clients: 4, max_steps: 50, mode: paper}",
    "sampling": "{kind: sampling, clients: 4, steps: 50}",
    "per_client": "{kind: per_client, max_steps: 50}",
    "budget": "{kind: budget, max_steps: 50}",
    "fixed": "{kind: fixed, steps: 50}",
}
"""The first four ask 4 clients of a cell, the others everybody."""
BUDGETS = {
    "no budget": "energy_j: null",
    "0.8 to 1.5 J": "energy_j: [0.8, 1.5]",
    "0.8 to 1.5 J, waiting free": "energy_j: [0.8, 1.5], idle_w: 0",
}
"""RawHFL's energy budget for every client and edge round; with the last, waiting for the deadline costs nothing."""
PAIRS = (("joint, paper", "joint, optimal"), ("sampling", "joint, optimal"), ("fixed", "per_client"))
"""Full power and its plan; without a budget, equally many clients take equally many steps."""


@dataclass(frozen=True)
class Cost:
    """Means of an edge round: joules, those of waiting among them, seconds until the last sender is done, clients that
    take part, those whose payload arrives, and their local steps in all."""

    joules: float
    waiting_j: float
    seconds: float
    senders: float
    arrived: float
    steps: float


def cost(planned: Planned) -> Cost:
    """What an edge round takes; senders wait for the deadline, as in the spec (`clock: deadline`)."""
    x, air, joules = planned.x, planned.airtime, planned_j(planned)
    assert joules is not None and x.fleet is not None and x.deadline_s is not None  # noqa: PT018
    assert air.done_s is not None
    done_s = air.done_s[x.alloc.active]
    return Cost(
        joules=float(joules.sum()),
        waiting_j=x.fleet.idle_w * float((x.deadline_s - done_s).sum()),
        seconds=float(done_s.max()) if len(done_s) else 0.0,
        senders=float(x.alloc.active.sum()),
        arrived=float(air.arrived.sum()),
        steps=float(x.alloc.steps[air.arrived].sum()),
    )


def mean(costs: Iterable[Cost]) -> Cost:
    rows = list(costs)
    return Cost(*(statistics.fmean(getattr(row, name) for row in rows) for name in Cost.__dataclass_fields__))


def costs(fleet: str, budget: str, policy: str, seeds: Iterable[int]) -> list[Cost]:
    """Means over the edge rounds of the first round, for every seed."""
    cycles = load_spec("rawhfl").plain["hops"][0]["fleet"]["cycles_per_bit"]
    devices = f"{{kind: {fleet}, cycles_per_bit: {cycles}, {budget}}}"
    found = []
    for seed in seeds:
        sim = build(load_spec("rawhfl", [f"seed={seed}", f"hops.0.fleet={devices}", f"hops.0.policy={policy}"]))
        found.append(mean(cost(planned) for planned in plan_slots(sim, begin(sim), 1)))
    return found


def cells(rows: list[Cost]) -> tuple[str, ...]:
    """Joules (lowest and highest seed), waiting, seconds, clients and steps as text; dashes if nobody takes part."""
    one = mean(rows)
    who = f"{one.senders:.1f}" if one.arrived == one.senders else f"{one.senders:.1f}, {one.arrived:.1f} arrive"
    if not one.senders:
        return "-", "-", "-", who, "-"
    low, high = min(row.joules for row in rows), max(row.joules for row in rows)
    steps = f"{one.steps / one.arrived:.1f}" if one.arrived else "-"
    joules = f"{number(one.joules)} ({number(low)} to {number(high)})"
    return joules, number(one.waiting_j), number(one.seconds), who, steps


def number(value: float) -> str:
    """At least three digits, never with an exponent for large numbers."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def saving(full: Cost, planned: Cost) -> str:
    """Joules at full power over those of the plan, in brackets without waiting; senders and steps are equal."""
    active = (full.joules - full.waiting_j) / (planned.joules - planned.waiting_j)
    return f"{number(full.joules / planned.joules)} ({number(active)})"


def print_idle(fleets: Iterable[str], powers: Iterable[float], seeds: Iterable[int]) -> None:
    """Print what is saved if waiting takes other powers, without a budget."""
    full, planned = PAIRS[0]
    print(f"| fleet | waiting W | {full} / {planned} |\n|---|---|---|")
    for fleet in fleets:
        for power in powers:
            devices = f"{BUDGETS['no budget']}, idle_w: {power}"
            pair = [mean(costs(fleet, devices, POLICIES[policy], seeds)) for policy in (full, planned)]
            print(f"| {fleet} | {power:g} | {number(pair[0].joules / pair[1].joules)} |")


def main() -> None:
    """Print a table for each fleet, and the savings of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fleets", type=lambda words: words.split(","), default=FLEETS)
    parser.add_argument(
        "--idle", type=lambda words: [float(word) for word in words.split(",")], help="watts, such as .02,.2"
    )
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    if options.idle:
        print_idle(options.fleets, options.idle, seeds)
        return
    keys = [(fleet, budget, policy) for fleet in options.fleets for budget in BUDGETS for policy in POLICIES]
    found = {
        (fleet, budget, policy): costs(fleet, BUDGETS[budget], POLICIES[policy], seeds)
        for fleet, budget, policy in track(keys, "planning", console=Console(stderr=True))
    }
    for fleet in options.fleets:
        print(f"| {fleet}: budget | policy | J | waiting J | s | clients | steps |\n|---|---|---|---|---|---|---|")
        for budget in BUDGETS:
            for policy in POLICIES:
                print(f"| {budget} | {policy} | {' | '.join(cells(found[fleet, budget, policy]))} |")
        print()
    print("| fleet, no budget | " + " | ".join(f"{full} / {planned}" for full, planned in PAIRS) + " |")
    print(f"|---|{'---|' * len(PAIRS)}")
    for fleet in options.fleets:
        pairs = [[mean(found[fleet, "no budget", policy]) for policy in pair] for pair in PAIRS]
        print(f"| {fleet} | {' | '.join(saving(full, planned) for full, planned in pairs)} |")


if __name__ == "__main__":
    main()
