"""Clients that are simulated here: what comes back, and what they keep."""

import torch
from support.worlds import tiny

from fedradio.algorithms.scaffold import scaffold
from fedradio.rounds.clients import SIMULATED
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin
from fedradio.rounds.tiers import open_tiers


def test_state_moves_when_payloads_are_sent_and_not_before() -> None:
    sim = tiny(algorithm=scaffold())
    state = begin(sim)
    tiers = open_tiers(sim, state.memory)
    planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, 0))
    returned = SIMULATED.work(sim, state, tiers, planned)
    assert returned.planned is planned
    assert returned.measured is None
    assert float(state.memory.client["c"].abs().sum()) == 0.0
    encoded = returned.send(torch.full((6,), 1 / 6).double())
    assert encoded.sent.payload.shape == (6, 2, sim.model.shared.size)
    assert bool((state.memory.client["c"].abs().sum(dim=1) > 0).all())
    assert SIMULATED.evaluate(sim, state) is None
