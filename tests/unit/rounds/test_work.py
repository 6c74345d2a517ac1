"""Clients that are simulated here: what they send and what they keep, as plain values."""

from dataclasses import replace

import torch
from support.worlds import tiny

from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Hop
from fedradio.links.ideal import ideal
from fedradio.policies.fixed import fixed
from fedradio.rounds.commit import CLIENT, Writes, commit
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin
from fedradio.rounds.tiers import start_tiers
from fedradio.rounds.work import SIMULATED, work
from fedradio.transforms.feedback import ERROR, feedback
from fedradio.transforms.sparsify import top_k


def test_rows_change_when_they_are_committed_and_not_before() -> None:
    """Work done twice gives the same values and leaves the state as it is; rows of clients and coders change after."""
    sim = tiny(algorithm=scaffold())
    hop = Hop(ideal(), fixed(steps=2), transforms=(feedback(), top_k(share=0.1)))
    sim = replace(sim, hops=(hop,))
    state = begin(sim)
    tiers = start_tiers(sim.topology, state.memory)
    planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, 0))
    (updates, writes), (again, _) = (work(sim, state, tiers, planned) for _ in range(2))
    assert updates.measured is None
    assert updates.payload.shape == (6, 2, sim.model.shared.size)
    assert torch.equal(updates.payload, again.payload)
    rows = [state.memory.client["c"], state.parts["hops.0.transforms.0"][ERROR]]
    assert [float(each.abs().sum()) for each in rows] == [0.0, 0.0]
    commit(state, writes)
    assert all(bool((each.flatten(1).abs().sum(dim=1) > 0).all()) for each in rows)
    assert SIMULATED.evaluate(sim, state) is None


def test_commit_writes_the_rows_of_the_senders_and_no_others() -> None:
    sim = tiny(algorithm=scaffold())
    state = begin(sim)
    size = sim.model.shared.size
    commit(state, Writes(torch.tensor([4, 1]), {CLIENT: {"c": torch.tensor([[7.0], [3.0]]).expand(2, size)}}))
    assert state.memory.client["c"][:, -1].tolist() == [0.0, 3.0, 0.0, 0.0, 7.0, 0.0]


def test_nobody_sends_nothing_and_keeps_nothing() -> None:
    sim = tiny()
    state = begin(sim)
    tiers = start_tiers(sim.topology, state.memory)
    planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, 0))
    alloc = replace(planned.x.alloc, active=torch.zeros(6, dtype=torch.bool))
    updates, writes = work(sim, state, tiers, replace(planned, x=replace(planned.x, alloc=alloc)))
    assert (len(updates.ids), updates.mean_loss, writes.rows) == (0, None, {})
