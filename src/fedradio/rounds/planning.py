"""All that is settled before a payload exists: arrivals, channel, decision, readiness, airtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Allocation, ChannelState, Clock, Reason, SimState, Slots, View
from fedradio.engine.threads import one_torch_thread
from fedradio.fleet.costs import compute_s, cycles_per_step
from fedradio.rounds.drift import data_notes
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.working import Working, open_round


@dataclass(frozen=True)
class Plan:
    """One run of a hop before anything is sent: ``values`` numbers a payload, ``cycles [S]`` of one local step;
    ``notes`` on the data, per client, for the records."""

    clock: Clock
    channel: ChannelState | None
    values: int
    cycles: Tensor | None
    alloc: Allocation
    ready_s: Tensor | None
    airtime: Airtime
    notes: Slots


def plan_slots(sim: Simulation, state: SimState, rounds: int) -> Iterator[Plan]:
    """Every edge round of so many rounds as the policy of hop 0 would plan it. Nothing is trained, nothing is sent."""
    edge_rounds = prod(hop.period for hop in sim.hops)
    for t in range(state.t, state.t + rounds):
        work = open_round(sim, replace(state, t=t))
        for e in range(edge_rounds):
            with one_torch_thread():
                plan = plan_exchange(sim, work, 0, Clock(t, e))
            yield plan
        state = replace(state, stream=work.stream, policy=tuple(work.policy), signals=work.signals)


def plan_exchange(sim: Simulation, work: Working, h: int, clock: Clock) -> Plan:
    """Let samples arrive, realise the channel, ask the policy, and see who can arrive when. Nothing is trained."""
    hop, parent = sim.hops[h], sim.topology.parents[h]
    rng = sim.rng.child("hop", h, clock.t, clock.e)
    notes: Slots = {}
    if h == 0:
        work.stream = sim.stream.arrive(work.stream, clock, sim.rng.child("arrive", clock.t, clock.e))
        now = data_signals(sim, work.stream)
        notes = data_notes(work.signals, now)
        work.signals = work.signals | now
    channel = _realise(sim, h, clock)
    blocks = sim.algorithm.blocks if h == 0 else len(work.shared[h])
    values = sim.model.shared.size * blocks
    view = _view(sim, work, h, clock, channel, values)
    alloc, work.policy[h] = hop.policy.decide(view, work.policy[h], rng.child("policy"))
    alloc = _able(sim, work, h, alloc)
    if "superposition" in hop.link.offers:  # the power of analogue symbols is that of the payload
        alloc = replace(alloc, power_w=None)
    ready = _ready(work, h, alloc, parent, view.cycles_per_step)
    airtime = hop.link.plan(channel, alloc, parent, values, ready, hop.deadline_s, rng.child("plan"), blocks)
    return Plan(clock, channel, values, view.cycles_per_step, alloc, ready, airtime, notes)


def data_signals(sim: Simulation, stream: Slots) -> Slots:
    """Sizes, and how many local steps an epoch over the labelled (else all) data has."""
    stats = sim.stream.stats(stream)
    seen = torch.where(stats["labelled"] > 0, stats["labelled"], stats["samples"])
    per_step = sim.rule.batch * sim.rule.updates_per_step
    epoch_steps = torch.div(seen + per_step - 1, per_step, rounding_mode="floor")
    return {name: rows.cpu() for name, rows in (stats | {"epoch_steps": epoch_steps}).items()}


def _realise(sim: Simulation, h: int, clock: Clock) -> ChannelState | None:
    channel, positions = sim.hops[h].channel, sim.topology.positions
    if channel is None:
        return None
    rng = sim.rng.child("channel", h, clock.t, clock.e)
    return channel.realise(positions[h + 1], positions[h], sim.topology.parents[h], rng)


def _view(sim: Simulation, work: Working, h: int, clock: Clock, channel: ChannelState | None, values: int) -> View:
    """What the policy of the hop may see; outer hops have no local steps."""
    hop, rule = sim.hops[h], sim.rule
    senders = sim.topology.senders(h)
    cycles = None
    if h == 0 and hop.fleet is not None:
        cycles = cycles_per_step(hop.fleet, sim.stream.sample_bits, rule.batch * rule.updates_per_step, rule.work)
    signals = work.signals if h == 0 else {"epoch_steps": torch.zeros(senders, dtype=torch.long)}
    return View(
        clock=clock,
        parent=sim.topology.parents[h],
        receivers=sim.topology.receivers(h),
        channel=channel,
        link=hop.link,
        fleet=hop.fleet,
        cycles_per_step=cycles,
        payload_bits=hop.link.bits(values),
        deadline_s=hop.deadline_s,
        signals=signals,
        able=_can(sim, work, h),
    )


def _can(sim: Simulation, work: Working, h: int) -> Tensor:
    """Without samples that the cost can use a client cannot train; without news an edge has nothing to hand up."""
    if h == 0:
        dark = sim.rule.objective is not None and sim.rule.objective.unlabelled_batch > 0
        return work.signals["samples" if dark else "labelled"] > 0
    return torch.ones_like(work.mass[h - 1], dtype=torch.bool) if sim.algorithm.remembers else work.mass[h - 1] > 0


def _able(sim: Simulation, work: Working, h: int, alloc: Allocation) -> Allocation:
    """Whoever cannot take part does not, whatever the policy says."""
    can = _can(sim, work, h)
    why = Reason.NO_DATA if h == 0 else Reason.NO_NEWS
    active = alloc.active & can
    return replace(
        alloc,
        active=active,
        steps=torch.where(active, alloc.steps, 0) if h == 0 else torch.zeros_like(alloc.steps),
        reason=torch.where(alloc.active & ~can, int(why), alloc.reason),
    )


def _ready(work: Working, h: int, alloc: Allocation, parent: Tensor, cycles: Tensor | None) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender has its payload."""
    if h == 0:
        if cycles is None or alloc.cpu_hz is None:
            return None
        return compute_s(cycles * alloc.steps, alloc.cpu_hz)
    own, above = work.elapsed[h - 1], work.elapsed[h]
    return None if own is None or above is None else own - above[parent]
