"""One client without a simulation: what a device of a federation computes, and the state that it keeps.

It equals the same client of a simulation with ``grouping: single``, bit for bit: all draws are named by the client, the
round and the exchange. A device learns only with the next request whether its upload counted, so that it works out its
state for both cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Algorithm,
    Backend,
    Clock,
    Grouping,
    Link,
    LocalRule,
    Message,
    Model,
    Precision,
    Slots,
    Stream,
    Transform,
    View,
)
from fedradio.core.rng import Rng
from fedradio.data.streams import arrivals_rng
from fedradio.engine.threads import one_torch_thread
from fedradio.rounds.cohort import Assignment, Training, client_slots, kept_slots, train_assigned, upload
from fedradio.rounds.norm_layers import sends_norms
from fedradio.rounds.parts import of_transform
from fedradio.rounds.payload import Encoded, encode
from fedradio.rounds.simulation import Simulation
from fedradio.transforms.chain import messages


@dataclass(frozen=True)
class Upload:
    """A device's reply: ``payload [k, d]`` as it is sent, the training ``loss``, its norm layers ``local [n]`` where
    these are sent, the ``note`` of its loss, the ``bits`` of the payload where they are fewer than
    foreseen, ``notes`` of the transforms; its state after the exchange, whether the upload ``counted`` or was ``lost``.
    """

    payload: Tensor
    loss: float
    local: Tensor | None
    note: float | None
    bits: float | None
    notes: dict[str, float]
    counted: Slots
    lost: Slots


@dataclass(frozen=True)
class Device:
    """Client ``number`` of ``clients``: a :class:`~fedradio.rounds.simulation.Learner` of its own.

    ``rule`` is already the algorithm's version of it, ``transforms`` and ``link`` are those of hop 0.
    """

    number: int
    clients: int
    model: Model
    rule: LocalRule
    algorithm: Algorithm
    stream: Stream
    rng: Rng
    link: Link
    backend: Backend
    transforms: tuple[Transform, ...] = ()
    device: torch.device = field(default=torch.device("cpu"))
    grouping: Grouping = "single"
    pooled: bool = False
    precision: Precision = "float32"

    @classmethod
    def of(cls, sim: Simulation, number: int) -> Device:
        """Client ``number`` of a simulation, alone."""
        return cls(
            number=number,
            clients=sim.topology.clients,
            model=sim.model,
            rule=sim.rule,
            algorithm=sim.algorithm,
            stream=sim.stream,
            rng=sim.rng,
            link=sim.hops[0].link,
            backend=sim.backend,
            transforms=sim.transforms,
        )

    def message(self, hop: int) -> Message:
        """What it sends before any transform."""
        return Message.of(self.algorithm.sends, self.model.shared.size)

    def start(self) -> Slots:
        """Its state before the first round: a row of every client slot, and of the memory of every transform."""
        row = self.model.init(self.rng.child("model"))
        w = row[: self.model.shared.size].clone()
        slots = self.algorithm.init(w, self.clients, 1).client | client_slots(self, row, self.clients)
        mine = {name: rows[self.number].clone() for name, rows in slots.items()}
        before = messages(self.transforms, self.message(0))
        for i, transform in enumerate(self.transforms):
            memory = transform.start(self.clients, before[i])
            mine |= {f"{of_transform(0, i)}/{name}": rows[self.number].clone() for name, rows in memory.items()}
        return mine

    def arrive(self, stream: Slots, clock: Clock) -> Slots:
        """The state of its data after the samples that arrive before an exchange."""
        return self.stream.arrive(stream, clock, arrivals_rng(self.rng, clock))

    def work(self, got: Slots, norms: Tensor | None, stream: Slots, mine: Slots, steps: int, clock: Clock) -> Upload:
        """Train for so many ``steps`` from the received vectors ``got [d]`` and norm layers ``norms [n]``, with the
        data ``stream`` and the state ``mine``."""
        ids, place = torch.tensor([self.number]), torch.zeros(1, dtype=torch.long)
        memories = [self._memory(mine, i) for i in range(len(self.transforms))]
        given = Assignment(
            ids=ids,
            row=place,
            got={name: vector.unsqueeze(0) for name, vector in got.items()},
            norms=None if norms is None else norms.unsqueeze(0),
            slots={name: row.unsqueeze(0) for name, row in mine.items()},
            stream=stream,
            steps=torch.tensor([steps]),
            clock=clock,
        )
        with one_torch_thread():
            training = train_assigned(self, given)
            payload = upload(self, training)
            encoded = encode(self.transforms, self.message(0), self._view(clock), ids, payload, memories, self.rng)

        trained = training.trained
        return Upload(
            payload=encoded.sent.payload[0],
            loss=float(trained.loss[0]),
            local=trained.local[0] if trained.local is not None and sends_norms(self) else None,
            note=next((float(values[0].nan_to_num(nan=-1.0)) for values in trained.notes.values()), None),
            bits=None if encoded.bits is None else float(encoded.bits[0]),
            notes={name: float(note.values[0]) for name, note in encoded.notes.items() if note.axis == "active"},
            counted=self._kept(mine, training, encoded, True),
            lost=self._kept(mine, training, encoded, False),
        )

    def _kept(self, mine: Slots, training: Training, encoded: Encoded, counted: bool) -> Slots:
        """Its state after an exchange in which its upload ``counted``, or not."""
        acked = torch.tensor([counted])
        slots = kept_slots(self, training, encoded.heard, acked)
        for i, memory in encoded.kept(acked).items():
            slots |= {f"{of_transform(0, i)}/{name}": rows for name, rows in memory.items()}
        return mine | {name: rows[0].clone() for name, rows in slots.items()}

    def _memory(self, mine: Slots, i: int) -> Slots:
        """The memory ``[1, ...]`` of transform ``i``."""
        prefix = f"{of_transform(0, i)}/"
        return {name.removeprefix(prefix): row.unsqueeze(0) for name, row in mine.items() if name.startswith(prefix)}

    def _view(self, clock: Clock) -> View:
        """The exchange as a device sees it: what it sends, and when. It knows no channel and no other client."""
        return View(
            clock=clock,
            hop=0,
            parent=torch.zeros(self.clients, dtype=torch.long),
            receivers=1,
            channel=None,
            link=self.link,
            fleet=None,
            cycles_per_step=None,
            message=self.message(0),
            deadline_s=None,
            signals={},
        )
