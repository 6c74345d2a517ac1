"""RawHFL's slot problem three ways, OSAFL's two: ``python benchmarks/policies.py [--slots 20] [--quick]``.

The modes of policy ``joint`` (exact optimum, everybody at full power, Algorithm 2 with Clarabel) plan the
same random slots in turn: 4 cells x 12 clients, 4 selected in each, at most 2 of them repeated. Every slot has a world
and a previous selection of its own. Printed: the objective (29), joules, steps, who is eligible, milliseconds on one
torch thread; then the same slots on devices with floors and circuit power; then planning as a share of training time,
the best times of both, for noise only adds.

Last, the modes of policy ``per_client`` (most steps for the least energy; Algorithm 4 as published) in OSAFL's cell of
100 clients, for its four models: who takes part, steps, joules, milliseconds. About a minute and a half.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from typing import get_args

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from fedradio.core.contracts import Batches, Clock, LocalRule, Message, Picks, Start, TrainJob, View
from fedradio.core.params import group_rank
from fedradio.core.rng import Rng
from fedradio.engine import Engine, cut
from fedradio.fleet.costs import cycles_per_step
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.models import mlp
from fedradio.network.channel import urban_macro
from fedradio.network.topology import flat, hierarchical
from fedradio.policies import per_client as osafl
from fedradio.policies.joint import Joint, Mode, joint
from fedradio.policies.slot import SlotProblem, slot_of

EDGES, EACH, SELECTED, MAX_STEPS = 4, 12, 4, 50
VALUES, STEP_BITS = 219_648, 43 * 32 * 320
SLOTS_OF_A_RUN, UPDATES_PER_STEP, BATCH = 400, 10, 32
FLOORS = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05}
MODES: tuple[Mode, ...] = get_args(Mode)
FASTER, SHARE = 30, 0.01
CHEAPER, OSAFL_STEPS = 10, 5
OSAFL_MODELS = {
    "SqueezeNet": (773_796, 101_376),
    "CNN": (1_026_772, 101_376),
    "LSTM": (1_378_532, 70),
    "FCN": (1_936_484, 101_376),
}
"""Parameters, and bits of a sample."""


@dataclass(frozen=True)
class Plan:
    """One mode's answer to one slot; ``cpu_hz`` and ``power_w`` of the selected."""

    objective: float
    joules: float
    steps: float
    eligible: int
    selected: int
    cpu_hz: Tensor
    power_w: Tensor
    seconds: float


def world(seed: int, floors: dict[str, float]) -> tuple[SlotProblem, Tensor]:
    """A random slot of RawHFL's world and who was selected in the one before; the same world with any floors."""
    rng, clients = Rng(seed), EDGES * EACH
    topology = hierarchical(rng.child("topology"), edges=EDGES, clients_per_edge=EACH, radius_m=400.0)
    parent = topology.parents[0]
    channel, _ = urban_macro().realise(topology.site(0, Clock(0)), {}, rng.child("channel"))
    fleet = cellular(clients, rng.child("fleet"), **floors)  # type: ignore[arg-type]
    view = View(
        clock=Clock(0),
        hop=0,
        parent=parent,
        receivers=EDGES,
        channel=channel,
        link=digital(),
        fleet=fleet,
        cycles_per_step=fleet.cycles_per_bit * STEP_BITS,
        message=Message(1, VALUES),
        deadline_s=150.0,
        signals={},
    )
    before = group_rank(torch.from_numpy(rng.child("before").numpy().random(clients)), parent) < SELECTED
    return slot_of(view), before


def plan(policy: Joint, slot: SlotProblem, before: Tensor) -> Plan:
    began = time.perf_counter()
    offer, active, _ = policy.solve(slot, before)
    seconds = time.perf_counter() - began
    joules, steps = float(offer.energy_j[active].sum()), float(offer.steps[active].sum())
    return Plan(
        objective=(1 - policy.theta) * joules - policy.theta * steps,
        joules=joules,
        steps=steps,
        eligible=int(offer.eligible.sum()),
        selected=int(active.sum()),
        cpu_hz=offer.cpu_hz[active],
        power_w=offer.power_w[active],
        seconds=seconds,
    )


def plans(slots: int, floors: dict[str, float]) -> dict[Mode, list[Plan]]:
    """Every mode on every slot; modes take turns. The first slot of each is a rehearsal (imports, caches)."""
    policies = {mode: joint(clients=SELECTED, max_steps=MAX_STEPS, mode=mode) for mode in MODES}
    done: dict[Mode, list[Plan]] = {mode: [] for mode in MODES}
    for policy in policies.values():
        plan(policy, *world(0, floors))
    for seed in range(slots):
        slot, before = world(seed, floors)
        for mode, policy in policies.items():
            done[mode].append(plan(policy, slot, before))
    return done


def mean(done: list[Plan], name: str) -> float:
    return statistics.fmean(getattr(one, name) for one in done)


def median_ms(done: list[Plan]) -> float:
    return 1e3 * statistics.median(one.seconds for one in done)


def worse(done: dict[Mode, list[Plan]]) -> int:
    """Slots on which another mode reached a lower objective than ``optimal``."""
    best = zip(*(done[mode] for mode in MODES if mode != "optimal"), strict=True)
    return sum(
        any(other.objective < ours.objective - 1e-6 for other in others)
        for ours, others in zip(done["optimal"], best, strict=True)
    )


def best_ms(slots: int) -> float:
    """The exact planner's best time with as many torch threads as are set now."""
    policy = joint(clients=SELECTED, max_steps=MAX_STEPS)
    return 1e3 * min(plan(policy, *world(seed, {})).seconds for seed in range(slots))


def update_seconds(repetitions: int) -> float:
    """Wall seconds of one client's update (a mini-batch of 32), best of several cohorts of 16 on all cores."""
    clients, updates, samples = EDGES * SELECTED, 20, 2000
    model, g = mlp((43,), 256, hidden=(512, 256)), Rng(0).torch()
    assert model.shared.size == VALUES
    x, y = torch.randn(samples, 43, generator=g), torch.randint(256, (samples,), generator=g)
    picks = Picks(torch.randint(samples, (clients, updates, BATCH), generator=g), torch.full((clients, updates), BATCH))
    batches = Batches(picks, None, lambda index: (x[index], y[index]))
    start = Start(model.init(Rng(0))[None], torch.zeros(clients, dtype=torch.long))
    job = TrainJob(model, LocalRule(lr=0.01), 0, start, batches, torch.full((clients,), updates), Rng(0))
    engine, best = Engine(), float("inf")
    for _ in range(repetitions):
        began = time.perf_counter()
        engine.train(job, cut(job))
        best = min(best, time.perf_counter() - began)
    return best / (clients * updates)


def modes_table(title: str, done: dict[Mode, list[Plan]]) -> Table:
    table = Table(title=title)
    columns = ("mode", "objective", "joules", "times", "steps", "eligible", "selected", "MHz", "mW", "ms", "times")
    for column in columns:
        table.add_column(column, justify="left" if column == "mode" else "right")
    best = done["optimal"]
    for mode, rows in done.items():
        table.add_row(
            mode,
            f"{mean(rows, 'objective'):.4f}",
            f"{mean(rows, 'joules'):.4f}",
            f"{mean(rows, 'joules') / mean(best, 'joules'):.6g}",
            f"{mean(rows, 'steps') / mean(rows, 'selected'):.2f}",
            f"{mean(rows, 'eligible'):.1f}",
            f"{mean(rows, 'selected'):.1f}",
            f"{float(torch.cat([one.cpu_hz for one in rows]).median()) / 1e6:.4g}",
            f"{float(torch.cat([one.power_w for one in rows]).median()) * 1e3:.4g}",
            f"{median_ms(rows):.1f}",
            f"{median_ms(rows) / median_ms(best):.3g}",
        )
    return table


def osafl_slot(seed: int, values: int, sample_bits: float, floors: dict[str, float]) -> SlotProblem:
    """A random slot of OSAFL's cell: 100 clients in a square, 200 s, five mini-batches of 32 a local step."""
    rng, clients = Rng(seed), 100
    topology = flat(rng.child("topology"), clients=clients, radius_m=200.0, area="square")
    parent = topology.parents[0]
    channel, _ = urban_macro().realise(topology.site(0, Clock(0)), {}, rng.child("channel"))
    fleet = cellular(clients, rng.child("fleet"), f_max_hz=(1e9, 1.8e9), energy_j=(1.2, 2.5), **floors)  # type: ignore[arg-type]
    view = View(
        clock=Clock(0),
        hop=0,
        parent=parent,
        receivers=1,
        channel=channel,
        link=digital(),
        fleet=fleet,
        cycles_per_step=cycles_per_step(fleet, sample_bits, 160, 1.0),
        message=Message(1, values),
        deadline_s=200.0,
        signals={},
    )
    return slot_of(view)


def osafl_plan(policy: osafl.PerClient, slot: SlotProblem) -> Plan:
    """Everybody's plan; joules and steps are totals, there is no selection and no objective of its own."""
    began = time.perf_counter()
    offer = policy.solve(slot)
    seconds, on = time.perf_counter() - began, offer.eligible
    return Plan(
        objective=0.0,
        joules=float(offer.energy_j[on].sum()),
        steps=float(offer.steps[on].sum()),
        eligible=int(on.sum()),
        selected=int(on.sum()),
        cpu_hz=offer.cpu_hz[on],
        power_w=offer.power_w[on],
        seconds=seconds,
    )


def osafl_table(title: str, slots: int, floors: dict[str, float]) -> tuple[Table, list[float]]:
    """A row per model and mode, and for each model how many times the optimum's joules a published plan takes."""
    table, times = Table(title=title), []
    for column in ("model", "mode", "take part", "steps", "joules", "MHz", "mW", "ms"):
        table.add_column(column, justify="left" if column in ("model", "mode") else "right")
    for model, (values, sample_bits) in OSAFL_MODELS.items():
        each = {}
        for mode in get_args(osafl.Mode):
            policy = osafl.per_client(max_steps=OSAFL_STEPS, mode=mode)
            osafl_plan(policy, osafl_slot(0, values, sample_bits, floors))  # a rehearsal
            rows = [osafl_plan(policy, osafl_slot(seed, values, sample_bits, floors)) for seed in range(slots)]
            taking = mean(rows, "eligible")
            each[mode] = mean(rows, "joules") / taking
            table.add_row(
                model,
                mode,
                f"{taking:.1f}",
                f"{mean(rows, 'steps') / taking:.2f}",
                f"{each[mode]:.5f}",
                f"{float(torch.cat([one.cpu_hz for one in rows]).median()) / 1e6:.4g}",
                f"{float(torch.cat([one.power_w for one in rows]).median()) * 1e3:.4g}",
                f"{median_ms(rows):.1f}",
            )
        times.append(each["paper"] / each["optimal"])
    return table, times


def verdict(console: Console, what: str, good: bool) -> None:
    console.print(("[green]kept  [/]" if good else "[red]MISSED[/]") + f" {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=20, help="random slots")
    parser.add_argument("--quick", action="store_true", help="4 slots")
    options = parser.parse_args()
    slots = 4 if options.quick else options.slots
    console = Console(width=120)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    free, floored = plans(slots, {}), plans(slots, FLOORS)
    console.print(modes_table(f"{slots} slots, means per slot; devices without floors, as in the paper", free))
    console.print(modes_table("the same slots; at least 300 MHz, 1 mW; 0.1 W circuit, 0.05 W static", floored))
    console.print("times: of optimal's joules and milliseconds; MHz, mW: medians of the selected; ms: median slot")
    ratio = median_ms(free["dc"]) / median_ms(free["optimal"])
    verdict(console, f"optimal at least {FASTER} times faster than dc: {ratio:.0f} times", ratio >= FASTER)
    beaten = worse(free) + worse(floored)
    verdict(console, f"optimal never worse in the objective: {beaten} of {2 * slots} slots", beaten == 0)
    update = update_seconds(3 if options.quick else 10)
    updates = SLOTS_OF_A_RUN * EDGES * SELECTED * MAX_STEPS * UPDATES_PER_STEP
    training = updates * update
    console.print(f"training: {updates:,} updates of {update * 1e3:.3f} ms: {training:.0f} s on all cores")
    for count in sorted({1, threads}):
        torch.set_num_threads(count)
        planning = SLOTS_OF_A_RUN * best_ms(slots) / 1e3
        share = planning / training
        what = f"{SLOTS_OF_A_RUN} slots on {count} torch threads {planning:.1f} s: {share:.2%} of training"
        verdict(console, f"planning below {SHARE:.0%}: {what}", share < SHARE)
    torch.set_num_threads(1)
    free_table, times = osafl_table(f"OSAFL: {slots} slots of 100 clients; means per client taking part", slots, {})
    console.print(free_table)
    console.print(osafl_table("the same slots; floors, circuit and static power as above", slots, FLOORS)[0])
    console.print("optimal: most steps, least energy; paper: Algorithm 4, one pass; MHz, mW: medians; ms: median slot")
    cheapest = f"{min(times):.0f} to {max(times):.0f} times"
    verdict(console, f"per_client optimal at least {CHEAPER} times cheaper: {cheapest}", min(times) >= CHEAPER)


if __name__ == "__main__":
    main()
