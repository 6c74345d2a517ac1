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
from fedradio.core.rng import Rng
from fedradio.data.streams import arrivals_rng
from fedradio.engine.threads import one_torch_thread
from fedradio.fleet.costs import compute_s, cycles_per_step
from fedradio.rounds.label_drift import data_notes
from fedradio.rounds.parts import STREAM, of_hop, recall, remember
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers, open_tiers
from fedradio.transforms.chain import messages


@dataclass(frozen=True)
class Planned:
    """Plan of one exchange, before anything is sent: the exchange ``x``, the link's forecast, and ``notes`` on the
    data, per client, for the records. ``stream_before``: the stream before the samples of an edge round arrived."""

    x: Exchange
    airtime: Airtime
    notes: dict[str, Noted]
    stream_before: Slots = field(default_factory=dict)

    @property
    def sending(self) -> Tensor:
        """Senders ``[S]`` that put something on the link: all active ones, late or not; on the air, whose symbols must
        end together, whoever would be late stays silent."""
        return self.airtime.arrived if SUPERPOSITION in self.x.link.offers else self.x.alloc.active


@dataclass(frozen=True)
class Seen:
    """What is known of an exchange before anybody decides: the policy's ``view``, the memory ``gains`` of the channel
    after it, ``notes`` on the data, per client, for the records, and the stream before the samples arrived."""

    view: View
    gains: Slots
    notes: dict[str, Noted]
    stream_before: Slots


def plan_slots(sim: Simulation, state: SimState, rounds: int) -> Iterator[Planned]:
    """Plans of all edge rounds of ``rounds`` rounds by the policy of hop 0; nothing is trained or sent."""
    for t in range(state.t, state.t + rounds):
        tiers = open_tiers(sim, state.memory)
        for e in range(sim.edge_rounds):
            with one_torch_thread():
                planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, t, e))
            yield planned


def plan_exchange(sim: Simulation, state: SimState, tiers: Tiers, h: int, clock: Clock) -> tuple[Planned, SimState]:
    """Plan an exchange: samples arrive, the channel is realised, the policy decides, the link forecasts arrivals."""
    seen, state = observe(sim, state, tiers, h, clock)
    alloc, memory = decide(sim, state, seen)
    return settle(sim, state, tiers, seen, alloc, memory)


def observe(sim: Simulation, state: SimState, tiers: Tiers, h: int, clock: Clock) -> tuple[Seen, SimState]:
    """What the policy of a hop sees of an exchange: samples have arrived, the channel is realised."""
    notes: dict[str, Noted] = {}
    before = recall(state.parts, STREAM)
    if h == 0:
        notes, state = _arrive(sim, state, clock)
    site = tiers.topology.site(h, clock)
    channel, gains = realise(sim, h, site, recall(state.parts, of_hop(h, "channel")))
    return Seen(_view(sim, state, tiers, h, clock, channel), gains, notes, before), state


def decide(sim: Simulation, state: SimState, seen: Seen) -> tuple[Allocation, Slots]:
    """The decision of the hop's own policy, and its memory after it."""
    view = seen.view
    memory = recall(state.parts, of_hop(view.hop, "policy"))
    return sim.hops[view.hop].policy.decide(view, memory, _rng(sim, view).child("policy"))


def settle(
    sim: Simulation, state: SimState, tiers: Tiers, seen: Seen, alloc: Allocation, memory: Slots
) -> tuple[Planned, SimState]:
    """The plan of an exchange in which ``alloc`` was decided; ``memory`` is that of the policy after it."""
    view, parts = seen.view, state.parts
    h, link = view.hop, sim.hops[view.hop].link
    alloc = _drop_unable(view, alloc)
    if SUPERPOSITION in link.offers:  # the power of analogue symbols is that of the payload
        alloc = replace(alloc, power_w=None)
    x = Exchange.of(view, alloc, _ready(tiers, view, alloc))
    airtime = link.plan(x, recall(parts, of_hop(h, "link")), _rng(sim, view).child("plan"))
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
    hop, rule, topology = sim.hops[h], sim.rule, tiers.topology
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
        message=messages(hop.transforms, sim.message(h))[-1],
        deadline_s=hop.deadline_s,
        signals=signals,
        able=_able(sim, state, tiers, h),
    )


def _passes(rule: LocalRule, t: int, signals: Slots) -> float | Tensor:
    """Training passes per labelled sample: one number, or ``[C]`` where it matters which samples a client has."""
    if rule.objective is None:
        return rule.passes(t)
    lit = signals["labelled"] > 0
    extra = lit if rule.objective.pseudo_on == "labelled" else signals["samples"] > signals["labelled"]
    passes = torch.zeros(len(lit), dtype=torch.float64)
    for labelled in (True, False):
        for unlabelled in (True, False):
            passes[(lit == labelled) & (extra == unlabelled)] = rule.passes(t, labelled, unlabelled)
    return passes


def _able(sim: Simulation, state: SimState, tiers: Tiers, h: int) -> Tensor:
    """Senders ``[S]`` that can contribute: clients with samples that the cost can use, edges with a change to relay."""
    if h == 0:
        objective = sim.rule.objective
        unlabelled = objective is not None and objective.unlabelled_batch > 0 and objective.pseudo_on == "unlabelled"
        return state.signals["samples" if unlabelled else "labelled"] > 0
    return torch.ones_like(tiers.mass[h - 1], dtype=torch.bool) if sim.algorithm.remembers else tiers.mass[h - 1] > 0


def _drop_unable(view: View, alloc: Allocation) -> Allocation:
    """The allocation without senders that have nothing to contribute, whatever the policy decided."""
    assert view.able is not None
    reason = Reason.NO_DATA if view.hop == 0 else Reason.NO_NEWS
    active = alloc.active & view.able
    return replace(
        alloc,
        active=active,
        steps=torch.where(active, alloc.steps, 0) if view.hop == 0 else torch.zeros_like(alloc.steps),
        reason=torch.where(alloc.active & ~view.able, int(reason), alloc.reason),
    )


def _ready(tiers: Tiers, view: View, alloc: Allocation) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender's payload is ready."""
    if view.hop == 0:
        if view.cycles_per_step is None or alloc.cpu_hz is None:
            return None
        return compute_s(view.cycles_per_step * alloc.steps, alloc.cpu_hz)
    own, above = tiers.elapsed[view.hop - 1], tiers.elapsed[view.hop]
    return None if own is None or above is None else own - above[view.parent]
