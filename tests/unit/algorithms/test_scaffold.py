"""Control variates: the invariant, and who moves them."""

from functools import partial

import torch
from support.worlds import after, cells

from fedradio.algorithms.scaffold import scaffold
from fedradio.data.partition import dirichlet
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin

SKEWED = partial(dirichlet, alpha=0.5)


def test_scaffold_keeps_its_invariant() -> None:
    """c = mean of the clients' variates, with partial participation, cells and unequal steps."""
    sim = cells(algorithm=scaffold(), partition=SKEWED, policy=sampling(clients=2, steps=(1, 5)))
    state = after(sim, rounds=10)
    c, mine = state.memory.shared["c"], state.memory.client["c"]
    assert float(c.norm()) > 0
    assert float((mine.mean(dim=0) - c).norm()) < 1e-5 * float(c.norm())


def test_variates_move_only_when_acknowledged() -> None:
    sim = cells(algorithm=scaffold(), deadline_s=1e-9)
    state = after(sim, 1)
    assert float(state.memory.client["c"].abs().max()) == 0.0
    assert torch.equal(state.memory.shared["w"], begin(sim).memory.shared["w"])
