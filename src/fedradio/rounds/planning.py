"""Plan of one exchange: arrival of samples, channel, decision of the policy, forecast of the link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import torch
from torch import Tensor

from fedradio.core.contracts import (
    SUPERPOSITION,
    Airtime,
    Allocation,
    Broadcast,
    ChannelState,
    Clock,
    Epoch,
    Exchange,
    LocalRule,
    Noted,
    Reason,
    SimState,
    Site,
    Slots,
    View,
    noted,
)
from fedradio.core.errors import OwnCodeError, Problem, SpecError
from fedradio.core.rng import Rng
from fedradio.data.streams import arrivals_rng
from fedradio.engine.threads import one_torch_thread
from fedradio.fleet.costs import cycles_per_step, ready_s
from fedradio.rounds.label_drift import data_notes
from fedradio.rounds.notes import refuse_undeclared
from fedradio.rounds.parts import IN_FLIGHT, STREAM, TASKS, of_hop, recall, remember
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers, start_tiers


@dataclass(frozen=True)
class Planned:
    """Plan of one exchange, before anything is sent: the exchange ``x``, the link's forecast, and ``notes`` on the
    data, per client, for the records. ``stream_before``: the stream before the samples of an edge round arrived."""

    x: Exchange
    airtime: Airtime
    notes: dict[str, Noted]
    stream_before: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """What is known of an exchange before anybody decides: the policy's ``view``, the memory ``gains`` of the channel
    after it, ``notes`` on the data, per client, for the records, and the stream before the samples arrived."""

    view: View
    gains: Slots
    notes: dict[str, Noted]
    stream_before: Slots


def plan_slots(sim: Simulation, state: SimState, rounds: int) -> Iterator[Planned]:
    """Plans of all edge rounds of ``rounds`` rounds by the policy of hop 0; nothing is trained or sent. Refuses a
    gather that keeps updates in flight: who is busy depends on what was sent before."""
    if sim.hops[0].gather.carries:
        reason = "a plan sends nothing, but who takes part depends on the updates that are in flight"
        raise SpecError(Problem("hops.0.gather", reason, "set hops.0.gather=all, or run the spec"))
    for t in range(state.t, state.t + rounds):
        tiers = start_tiers(sim.topology, state.memory)
        for e in range(sim.edge_rounds):
            with one_torch_thread():
                planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, t, e))
            yield planned


def plan_exchange(sim: Simulation, state: SimState, tiers: Tiers, h: int, clock: Clock) -> tuple[Planned, SimState]:
    """Plan an exchange: samples arrive, the channel is realised, the policy decides, the link forecasts arrivals."""
    seen, state = observe(sim, state, tiers, h, clock)
    seen = broadcast(seen)
    alloc, memory = decide(sim, state, seen)
    return finalise(sim, state, seen, alloc, memory)


def observe(sim: Simulation, state: SimState, tiers: Tiers, h: int, clock: Clock) -> tuple[Observation, SimState]:
    """What the policy of a hop sees of an exchange: samples have arrived, the channel is realised."""
    notes: dict[str, Noted] = {}
    before = recall(state.parts, STREAM)
    if h == 0:
        notes, state = _arrive(sim, state, clock)
    site = sim.topology.site(h, clock)
    channel, gains = realise(sim, h, site, recall(state.parts, of_hop(h, "channel")))
    return Observation(_view(sim, state, tiers, h, clock, channel), gains, notes, before), state


def broadcast(seen: Observation, down: Broadcast | None = None) -> Observation:
    """The observation after the model came ``down`` the hop, by default free and ideal.

    Senders that it did not reach cannot take part, and those that it reached begin when they have it.
    """
    view = seen.view
    down = Broadcast.free(view.senders, view.receivers) if down is None else down
    unable = torch.zeros(view.senders, dtype=torch.long) if view.unable is None else view.unable
    unable = torch.where(down.reached | (unable != 0), unable, int(Reason.NO_MODEL))
    return replace(seen, view=replace(view, down=down, unable=unable))


def decide(sim: Simulation, state: SimState, seen: Observation) -> tuple[Allocation, Slots]:
    """The decision of the hop's own policy, and its memory after it."""
    view = seen.view
    memory, policy = recall(state.parts, of_hop(view.hop, "policy")), sim.hops[view.hop].policy
    alloc, memory = policy.decide(view, memory, _rng(sim, view).child("policy"))
    path = f"hops.{view.hop}.policy"
    refuse_undeclared(path, policy, policy.notes, alloc.notes, "notes")
    refuse_no_steps(view, alloc, f"{path}, {type(policy).__name__}")
    return alloc, memory


def refuse_no_steps(view: View, alloc: Allocation, who: str) -> None:
    """Refuse a decision of ``who`` by which a client that can take part does so without a local step."""
    if view.hop > 0:
        return
    idle = alloc.active & (alloc.steps < 1) & (True if view.able is None else view.able)
    if bool(idle.any()):
        client = int(idle.nonzero()[0])
        reason = f"lets client {client} take part with {int(alloc.steps[client])} local steps"
        raise OwnCodeError(f"{who}: {reason}; give it at least 1, or leave it out (active: False)")


def finalise(
    sim: Simulation, state: SimState, seen: Observation, alloc: Allocation, memory: Slots
) -> tuple[Planned, SimState]:
    """The plan of an exchange in which ``alloc`` was decided; ``memory`` is that of the policy after it."""
    view, parts = seen.view, state.parts
    h, link = view.hop, sim.hops[view.hop].link
    alloc = _drop_unable(view, alloc)
    if SUPERPOSITION in link.offers:  # the power of analogue symbols is that of the payload
        alloc = replace(alloc, power_w=None)
    x = Exchange.of(view, alloc, ready_s(view, alloc))
    airtime = stop_at_deadline(x, link.plan(x, recall(parts, of_hop(h, "link")), _rng(sim, view).child("plan")))
    state = remember(remember(state, of_hop(h, "channel"), seen.gains), of_hop(h, "policy"), memory)
    return Planned(x, airtime, seen.notes, seen.stream_before), state


def _rng(sim: Simulation, view: View) -> Rng:
    """The randomness of policy and link in one exchange."""
    return sim.rng.child("hop", view.hop, view.clock.t, view.clock.e)


def data_signals(sim: Simulation, stream: Slots) -> Slots:
    """Signals of the clients' data: statistics, and the local steps of an epoch."""
    return _signals(sim.rule.epoch, *sim.stream.stats(stream).items())


@lru_cache(maxsize=2)
def _signals(epoch: Epoch, *stats: tuple[str, Tensor]) -> Slots:
    """Signals of these statistics, kept while they are the same tensors, as of static data; not to be written to."""
    rows = dict(stats)
    epoch_steps = epoch.steps(rows["labelled"], rows["samples"] - rows["labelled"])
    return {name: values.cpu() for name, values in (rows | {"epoch_steps": epoch_steps}).items()}


def realise(sim: Simulation, h: int, site: Site, state: Slots) -> tuple[ChannelState | None, Slots]:
    """The channel of a hop in one exchange, and its memory after it; None without a channel."""
    channel = sim.hops[h].channel
    return (None, state) if channel is None else channel.realise(site, state, sim.rng.child("channel", h))


def _arrive(sim: Simulation, state: SimState, clock: Clock) -> tuple[dict[str, Noted], SimState]:
    """Notes on the data, and the state, after the samples that arrive before an edge round."""
    stream = sim.stream.arrive(recall(state.parts, STREAM), clock, arrivals_rng(sim.rng, clock))
    signals = data_signals(sim, stream)
    notes = noted("sender", data_notes(state.signals, signals))
    return notes, remember(replace(state, signals=state.signals | signals), STREAM, stream)


def _view(sim: Simulation, state: SimState, tiers: Tiers, h: int, clock: Clock, channel: ChannelState | None) -> View:
    """Input of the hop's policy; outer hops have no local steps."""
    hop, rule, topology = sim.hops[h], sim.rule, sim.topology
    cycles = None
    signals: Slots = {"epoch_steps": torch.zeros(topology.senders(h), dtype=torch.long)}
    if h == 0:
        signals = state.signals
        if hop.fleet is not None:
            samples, passes = rule.batch * rule.updates_per_step, _passes(rule, clock.t, signals)
            cycles = cycles_per_step(hop.fleet, sim.stream.sample_bits, samples, passes)
    return View(
        clock=clock,
        hop=h,
        parent=topology.parents[h],
        receivers=topology.receivers(h),
        channel=channel,
        link=hop.link,
        fleet=hop.fleet,
        cycles_per_step=cycles,
        message=sim.message_on_link(h),
        deadline_s=hop.deadline_s,
        signals=signals,
        unable=_unable(sim, state, tiers, h),
        elapsed_s=_elapsed(tiers, h, topology.parents[h]),
        payloads=tiers[h - 1].payloads if h > 0 and topology.forwards else None,
        late=hop.late,
    )


def _passes(rule: LocalRule, t: int, signals: Slots) -> float | Tensor:
    """Training passes per labelled sample: one number, or ``[C]`` where it matters which samples a client has."""
    if rule.loss is None:
        return rule.passes(t)
    lit = signals["labelled"] > 0
    extra = lit if rule.loss.stand_in else signals["samples"] > signals["labelled"]
    passes = torch.zeros(len(lit), dtype=torch.float64)
    for labelled in (True, False):
        for unlabelled in (True, False):
            passes[(lit == labelled) & (extra == unlabelled)] = rule.passes(t, labelled, unlabelled)
    return passes


def _unable(sim: Simulation, state: SimState, tiers: Tiers, h: int) -> Tensor:
    """Why senders ``[S]`` cannot contribute: clients without samples that the cost can use, or with an update in
    flight; edges without a change to relay. 0 for all others."""
    if h == 0:
        loss = sim.rule.loss
        unlabelled = loss is not None and loss.unlabelled_batch > 0 and not loss.stand_in
        samples = state.signals["samples" if unlabelled else "labelled"]
        unable = torch.where(samples > 0, int(Reason.NONE), int(Reason.NO_DATA))
        busy = recall(state.parts, TASKS).get(IN_FLIGHT)
        return unable if busy is None else torch.where(busy, int(Reason.BUSY), unable)
    mass = tiers[h - 1].mass
    silent = torch.zeros_like(mass, dtype=torch.bool) if sim.algorithm.ledger is not None else mass <= 0
    return torch.where(silent, int(Reason.NO_NEWS), int(Reason.NONE))


def _drop_unable(view: View, alloc: Allocation) -> Allocation:
    """The allocation without senders that have nothing to contribute, whatever the policy decided."""
    if view.unable is None:
        return alloc
    able = view.unable == 0
    active = alloc.active & able
    return replace(
        alloc,
        active=active,
        steps=torch.where(active, alloc.steps, 0) if view.hop == 0 else torch.zeros_like(alloc.steps),
        reason=torch.where(alloc.active & ~able, view.unable, alloc.reason),
    )


def _elapsed(tiers: Tiers, h: int, parent: Tensor) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender of an outer hop has its change."""
    if h == 0:
        return None
    own, above = tiers[h - 1].elapsed_s, tiers[h].elapsed_s
    return None if own is None or above is None else own - above[parent]


def stop_at_deadline(x: Exchange, airtime: Airtime) -> Airtime:
    """The forecast of senders that stop at the deadline T: on the air for ``min(upload, T - ready)``, at least 0.

    By hand: T = 1 s, ready after .4 s, an upload of 2 s at .2 W: .6 s on the air, .12 J, done after 1 s. Senders in
    time, and those of a hop whose late senders finish, are as the link has forecast them.
    """
    end_s = airtime.tx_s if airtime.done_s is None else airtime.done_s
    if x.deadline_s is None or x.late == "finish" or end_s is None:
        return airtime
    late = end_s > x.deadline_s
    left_s = torch.full_like(end_s, x.deadline_s) if x.ready_s is None else (x.deadline_s - x.ready_s).clamp(min=0.0)
    tx_s, done_s = airtime.tx_s, airtime.done_s
    return replace(
        airtime,
        tx_s=None if tx_s is None else torch.where(late, torch.minimum(tx_s, left_s), tx_s),
        done_s=None if done_s is None else torch.where(late, x.deadline_s, done_s),
    )
