"""Where clients work: here, simulated as one cohort, or somewhere else, as the devices of a federation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from fedradio.core.contracts import Noted, Sent, SimState, Slots
from fedradio.rounds.cohort import keep, train, upload
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.payload import Encoded, encode, memories_of, write_memories
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
class Returned:
    """What came back from the active clients of an exchange.

    ``planned`` says who arrived in the end; ``loss [A]`` is NaN for a client that was not heard of; ``local [A, n]``
    are norm layers where these are sent. ``send`` gives the payloads on the link for the clients' weights ``[A]``.
    """

    planned: Planned
    loss: Tensor
    send: Callable[[Tensor], Encoded]
    local: Tensor | None = None
    pseudo: Tensor | None = None
    notes: dict[str, Noted] = field(default_factory=dict)
    measured: Measured | None = None


class Clients(Protocol):
    """The clients of a run. Their state is theirs: where they work somewhere else, it is not in the run's state."""

    def describe(self) -> dict[str, Any]:
        """What to remember of them with a run, as plain data."""
        ...

    def start(self, clients: int) -> Slots:
        """What the run's state keeps of them between exchanges, before the first one."""
        return {}

    def work(self, sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> Returned:
        """Let the active clients of a planned exchange of hop 0 train and send; there is at least one."""
        ...

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        """Scores on the clients' own test samples; None: the run has test samples of its own."""
        ...


class Simulated(Clients):
    """Clients that are simulated in this process, as one cohort."""

    def describe(self) -> dict[str, Any]:
        return {}

    def work(self, sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> Returned:
        training = train(sim, state, tiers, planned.x)
        ids, trained, payload = training.cohort.ids, training.trained, upload(sim, training)
        group, arrived = planned.x.parent[ids], planned.airtime.arrived[ids]

        def send(weight: Tensor) -> Encoded:
            sent, memories = Sent(ids, group, payload, weight), memories_of(state.parts, 0, sim.transforms, ids)
            encoded = encode(sim.transforms, sim.message(0), planned.x, sent, memories, sim.rng)
            write_memories(state.parts, 0, ids, encoded.kept(arrived))
            keep(sim, state.memory.client, training, encoded.heard, arrived)
            return encoded

        return Returned(planned, trained.loss.double().cpu(), send, trained.local, trained.pseudo)

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        return None


SIMULATED = Simulated()
