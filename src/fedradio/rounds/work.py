"""Work of an exchange: what the active senders put on the link, as plain values that can be kept and merged later.

Clients train and code their payloads, here or as devices of a federation; edges form the changes that they relay.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol

import torch
from torch import Tensor

from fedradio.core.contracts import BITS, LOSS, PAYLOADS, Noted, SimState, Slots, Updates, Work
from fedradio.rounds.cohort import kept_slots, train, upload, work_of
from fedradio.rounds.commit import CLIENT, Writes
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.parts import of_transform
from fedradio.rounds.payload import Encoded, encode, memories_of
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier, Tiers

MASS = "mass"
"""What receivers of an outer hop know of a sender: the mass that has arrived there since it last relayed."""


class Clients(Protocol):
    """The clients of a run. Their state is theirs: where they work somewhere else, it is not in the run's state."""

    def describe(self) -> dict[str, Any]:
        """What to remember of them with a run, as plain data."""
        ...

    def start(self, clients: int) -> Slots:
        """What the run's state keeps of them between exchanges, before the first one."""
        return {}

    def work(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        """Let the active clients of a planned exchange of hop 0 train and send; there is at least one. ``tier`` is what
        their receivers have."""
        ...

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        """Scores on the clients' own test samples; None: the run has test samples of its own."""
        ...


class Simulated(Clients):
    """Clients that are simulated in this process, as one cohort."""

    def describe(self) -> dict[str, Any]:
        return {}

    def work(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        training = train(sim, state, tier, planned.x)
        ids, trained = training.cohort.ids, training.trained
        encoded = _encode(sim, state, planned, ids, upload(sim, training))
        arrived = planned.airtime.arrived[ids]
        kept = {CLIENT: kept_slots(sim, training, encoded.heard, arrived)} | _memories(0, encoded, arrived)
        columns = _columns(encoded) | {LOSS: trained.loss.double().cpu()}
        notes = training_notes(trained.notes) | encoded.notes
        return client_updates(sim, state, planned, encoded.sent.payload, columns, trained.local, notes), Writes(
            ids, kept
        )

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        return None


SIMULATED = Simulated()


def work(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
    """What the active senders of a planned exchange send, and the rows that they keep; empty if nobody is active."""
    if not bool(planned.x.alloc.active.any()):
        return _nothing(sim, planned)
    if planned.x.hop == 0:
        return (sim.clients or SIMULATED).work(sim, state, tiers[0], planned)
    return _relay(sim, state, tiers, planned)


def client_updates(
    sim: Simulation,
    state: SimState,
    planned: Planned,
    payload: Tensor,
    columns: Slots,
    local: Tensor | None = None,
    notes: dict[str, Noted] | None = None,
) -> Updates:
    """The coded ``payload [A, k, d]`` of the active clients of a planned exchange as updates, with what the algorithm
    reveals of these clients."""
    ids = planned.x.alloc.active.nonzero().squeeze(1)
    known = {name: rows[ids] for name, rows in revealed(sim, state).items()} | _revealed_work(sim, planned, ids)
    return _updates(planned, ids, payload, known, {PAYLOADS: torch.ones_like(ids)} | columns, local, notes)


def revealed(sim: Simulation, state: SimState) -> Slots:
    """Signals ``[C]`` of all clients that the algorithm reveals to the receivers."""
    return {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}


def training_notes(notes: Slots) -> dict[str, Noted]:
    """Notes ``[A]`` of the loss on the active clients; -1 for a client without."""
    known = {name: values.double().cpu().nan_to_num(nan=-1.0) for name, values in notes.items()}
    return {name: Noted("active", values, rest=-1.0) for name, values in known.items()}


def _relay(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
    """The change of every shared vector of the active nodes of an outer hop since the last broadcast."""
    x, below, above = planned.x, tiers[planned.x.hop - 1], tiers[planned.x.hop]
    ids = x.alloc.active.nonzero().squeeze(1)
    rows, parents = ids.to(sim.device), x.parent[ids].to(sim.device)
    changes = torch.stack([own[rows] - above.shared[name][parents] for name, own in below.shared.items()], 1)
    encoded = _encode(sim, state, planned, ids, changes)
    local = None if below.norms is None else below.norms[rows]
    columns = {PAYLOADS: below.payloads[ids]} | _columns(encoded)
    updates = _updates(planned, ids, encoded.sent.payload, {MASS: below.mass[ids]}, columns, local, encoded.notes)
    return updates, Writes(ids, _memories(x.hop, encoded, updates.arrived))


def _nothing(sim: Simulation, planned: Planned) -> tuple[Updates, Writes]:
    """No updates."""
    nobody, message = torch.zeros(0, dtype=torch.long), planned.x.message
    known = dict.fromkeys(sim.algorithm.reveals, nobody) if planned.x.hop == 0 else {MASS: nobody.double()}
    payload = torch.zeros(0, message.blocks, message.size)
    return _updates(planned, nobody, payload, known, {PAYLOADS: nobody}), Writes(nobody, {})


def _updates(
    planned: Planned,
    ids: Tensor,
    payload: Tensor,
    known: Slots,
    columns: Slots,
    local: Tensor | None = None,
    notes: dict[str, Noted] | None = None,
) -> Updates:
    """Updates of the senders ``ids [A]`` as they were planned: who arrives, and why others do not."""
    airtime = planned.airtime
    return Updates(
        ids=ids,
        group=planned.x.parent[ids],
        payload=payload,
        arrived=airtime.arrived[ids],
        reason=airtime.reason[ids],
        expect=airtime.expect[ids],
        staleness=torch.zeros_like(ids),
        due_s=None if airtime.done_s is None else airtime.done_s[ids],
        known=known,
        columns=columns,
        local=local,
        notes=notes or {},
    )


def _revealed_work(sim: Simulation, planned: Planned, ids: Tensor) -> Slots:
    """Quantities of the active clients' work that the algorithm reveals to the receivers."""
    names = [entry.name for entry in fields(Work) if entry.name in sim.algorithm.reveals]
    if not names:
        return {}
    done = work_of(sim.rule, planned.x.alloc.steps[ids], planned.x.clock.t)
    return {name: getattr(done, name) for name in names}


def _encode(sim: Simulation, state: SimState, planned: Planned, ids: Tensor, payload: Tensor) -> Encoded:
    """Payloads through the transforms of their hop."""
    x, transforms = planned.x, sim.hops[planned.x.hop].transforms
    memories = memories_of(state.parts, x.hop, transforms, ids)
    return encode(transforms, sim.message(x.hop), x, ids, payload, memories, sim.rng)


def _columns(encoded: Encoded) -> Slots:
    return {} if encoded.bits is None else {BITS: encoded.bits}


def _memories(h: int, encoded: Encoded, arrived: Tensor) -> dict[str, Slots]:
    """New rows of the memories of a hop's transforms, by path."""
    return {of_transform(h, i): rows for i, rows in encoded.kept(arrived).items()}
