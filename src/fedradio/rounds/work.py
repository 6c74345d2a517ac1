"""Work of an exchange: what the active senders put on the link, as plain values that can be kept and merged later.

Clients train and code their payloads, here or as devices of a federation; edges form the changes that they relay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Noted, SimState, Slots
from fedradio.rounds.cohort import kept_slots, train, upload
from fedradio.rounds.commit import CLIENT, Writes
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.parts import of_transform
from fedradio.rounds.payload import Encoded, encode, memories_of
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers


@dataclass(frozen=True)
class Measured:
    """Measurements of real devices, of the active clients: ``seconds [A]`` from the request to the reply, of which
    ``train_s [A]`` were training, and the ``wire_bits [A]`` of the reply. NaN: there was none."""

    seconds: Tensor
    train_s: Tensor
    wire_bits: Tensor


@dataclass(frozen=True)
class Updates:
    """What the active senders ``ids [A]`` of an exchange sent to their receivers ``group [A]``: the coded ``payload
    [A, k, d]``, and its ``bits [A]`` where they are fewer than foreseen.

    ``airtime`` says who arrived in the end, ``staleness [A]`` how many merges ago the model was received (None: none).
    ``local [A, n]`` are norm layers where these are sent. Of clients ``loss
    [A]`` is that of training (NaN: not heard of), ``pseudo [A]`` the accuracy of their pseudo-labels; real ones are
    ``measured``.
    """

    ids: Tensor
    group: Tensor
    payload: Tensor
    airtime: Airtime
    local: Tensor | None = None
    bits: Tensor | None = None
    loss: Tensor | None = None
    notes: dict[str, Noted] = field(default_factory=dict)
    measured: Measured | None = None
    staleness: Tensor | None = None

    @property
    def mean_loss(self) -> float | None:
        """Mean training loss of the clients that were heard of; None if none was."""
        known = None if self.loss is None else self.loss[self.loss.isfinite()]
        return None if known is None or len(known) == 0 else float(known.mean())


class Clients(Protocol):
    """The clients of a run. Their state is theirs: where they work somewhere else, it is not in the run's state."""

    def describe(self) -> dict[str, Any]:
        """What to remember of them with a run, as plain data."""
        ...

    def start(self, clients: int) -> Slots:
        """What the run's state keeps of them between exchanges, before the first one."""
        return {}

    def work(self, sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
        """Let the active clients of a planned exchange of hop 0 train and send; there is at least one."""
        ...

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        """Scores on the clients' own test samples; None: the run has test samples of its own."""
        ...


class Simulated(Clients):
    """Clients that are simulated in this process, as one cohort."""

    def describe(self) -> dict[str, Any]:
        return {}

    def work(self, sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
        training = train(sim, state, tiers[0], planned.x)
        ids, trained = training.cohort.ids, training.trained
        encoded = _encode(sim, state, planned, ids, upload(sim, training))
        arrived = planned.airtime.arrived[ids]
        kept = {CLIENT: kept_slots(sim, training, encoded.heard, arrived)} | _memories(0, encoded, arrived)
        notes = training_notes(trained.pseudo) | encoded.notes
        loss = trained.loss.double().cpu()
        return _updates(planned, encoded, trained.local, loss, notes), Writes(ids, kept)

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        return None


SIMULATED = Simulated()


def work(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
    """What the active senders of a planned exchange send, and the rows that they keep; empty if nobody is active."""
    if not bool(planned.x.alloc.active.any()):
        nobody = torch.zeros(0, dtype=torch.long)
        vectors, size = planned.x.message.blocks, planned.x.message.size
        return Updates(nobody, nobody, torch.zeros(0, vectors, size), planned.airtime), Writes(nobody, {})
    if planned.x.hop == 0:
        return (sim.clients or SIMULATED).work(sim, state, tiers, planned)
    return _relay(sim, state, tiers, planned)


def _relay(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Updates, Writes]:
    """The change of every shared vector of the active nodes of an outer hop since the last broadcast."""
    x, below, above = planned.x, tiers[planned.x.hop - 1], tiers[planned.x.hop]
    ids = x.alloc.active.nonzero().squeeze(1)
    rows, parents = ids.to(sim.device), x.parent[ids].to(sim.device)
    changes = torch.stack([own[rows] - above.shared[name][parents] for name, own in below.shared.items()], 1)
    encoded = _encode(sim, state, planned, ids, changes)
    local = None if below.norms is None else below.norms[rows]
    kept = _memories(x.hop, encoded, planned.airtime.arrived[ids])
    return _updates(planned, encoded, local, None, encoded.notes), Writes(ids, kept)


def _updates(
    planned: Planned, encoded: Encoded, local: Tensor | None, loss: Tensor | None, notes: dict[str, Noted]
) -> Updates:
    sent = encoded.sent
    return Updates(sent.ids, sent.group, sent.payload, planned.airtime, local, encoded.bits, loss, notes)


def _encode(sim: Simulation, state: SimState, planned: Planned, ids: Tensor, payload: Tensor) -> Encoded:
    """Payloads through the transforms of their hop."""
    x, transforms = planned.x, sim.hops[planned.x.hop].transforms
    memories = memories_of(state.parts, x.hop, transforms, ids)
    return encode(transforms, sim.message(x.hop), x, ids, payload, memories, sim.rng)


def _memories(h: int, encoded: Encoded, arrived: Tensor) -> dict[str, Slots]:
    """New rows of the memories of a hop's transforms, by path."""
    return {of_transform(h, i): rows for i, rows in encoded.kept(arrived).items()}


def training_notes(pseudo: Tensor | None) -> dict[str, Noted]:
    """Accuracy ``pseudo [A]`` of pseudo-labels, where there were any; -1 for a client without."""
    if pseudo is None:
        return {}
    accuracy = pseudo.double().cpu().nan_to_num(nan=-1.0)
    return {"pseudo_accuracy": Noted("active", accuracy, rest=-1.0)}
