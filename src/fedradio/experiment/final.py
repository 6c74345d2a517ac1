"""The model that a run has made, by the names of its torch network."""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import SimState
from fedradio.rounds.clients import LOCAL
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.working import SIDE


def final_model(sim: Simulation, state: SimState) -> dict[str, Tensor]:
    """The global model's tensors; norm layers' numbers are those of the side channel, or the clients' mean."""
    model, memory = sim.model, state.memory
    found = model.shared.views(memory.shared["w"])
    side = memory.shared.get(SIDE)
    if LOCAL in memory.client:
        side = memory.client[LOCAL].mean(dim=0)
    if side is not None:
        found |= model.local.views(side[: model.local.size])
        found |= model.buffers.views(side[model.local.size :])
    return found
