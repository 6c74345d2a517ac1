"""Control variates: the invariant, and who moves them."""

from dataclasses import replace
from functools import partial

import torch
from support.receiver import cohort, knowledge, vector
from support.worlds import after, cells

from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Delivery, Held, Trained, Work
from fedradio.data.partition import dirichlet
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round

SKEWED = partial(dirichlet, alpha=0.5)


def test_scaffold_keeps_its_invariant() -> None:
    """c = mean of the clients' variates, with partial participation, cells and unequal steps."""
    sim = cells(algorithm=scaffold(), partition=SKEWED, policy=sampling(clients=2, steps=(1, 5)))
    state = after(sim, rounds=10)
    c, mine = state.memory.shared["c"], state.memory.client["c"]
    assert float(c.norm()) > 0
    assert float((mine.mean(dim=0) - c).norm()) < 1e-5 * float(c.norm())


def test_gradients_are_shifted_by_the_difference_of_the_variates() -> None:
    """``c - c_i`` with the variate of the client's own receiver: 1 - 10 and 3 - 20."""
    got, mine = {"w": vector(0, 0)[:, None], "c": vector(1, 3)[:, None]}, {"c": vector(10, 20)[:, None]}
    shift = scaffold().start(cohort(got, mine, torch.tensor([0, 1]))).shift
    assert shift is not None
    assert shift.tolist() == [[-9.0], [-17.0]]


def test_variates_move_only_when_acknowledged() -> None:
    sim = cells(algorithm=scaffold(), deadline_s=1e-9)
    state = after(sim, 1)
    assert float(state.memory.client["c"].abs().max()) == 0.0
    assert torch.equal(state.memory.shared["w"], begin(sim).memory.shared["w"])


def test_both_sides_move_by_what_was_heard_times_the_damping() -> None:
    """Change -2 in 4 steps at rate .5, c = 1: the client sends ``-(1 - 2/2) = 0``; half of what was heard, 8, is kept
    by the acknowledged client, and by the receiver the mean of both, 4, times 1/2, times the share 1/2 that arrived."""
    got, mine = {"w": vector(0)[None], "c": vector(1)[None]}, {"c": vector(10, 20)[:, None]}
    here = cohort(got, mine, torch.zeros(2).long(), damping=0.5)
    trained = Trained(vector(-2, -2)[:, None], None, torch.zeros(2), {})
    four = torch.tensor([4, 4])
    work = Work(four, four, four.double(), four * 0.5)
    payload = scaffold().upload(here, trained, work)
    assert payload.tolist() == [[[-2.0], [0.0]]] * 2
    heard = torch.full_like(payload, 8.0)
    acked = torch.tensor([True, False])
    assert scaffold().keep(here, trained, work, heard, acked)["c"].flatten().tolist() == [14.0, 20.0]
    told = replace(knowledge(torch.arange(2), torch.zeros(2).long(), {}, arrived=acked), damping=0.5)
    merged = scaffold().merge(Held(got), Delivery(torch.full((1, 2, 1), 8.0).double(), None, None), told)
    assert merged.held.shared["c"].item() == 1.0 + 0.5 * 0.5 * 8.0
    assert merged.held.shared["w"].item() == 8.0


def test_it_measures_its_invariant() -> None:
    sim = cells(algorithm=scaffold(), partition=SKEWED)
    _, record, _ = run_round(sim, begin(sim))
    assert record.metrics["variate_norm"] > 0
    assert record.metrics["variate_error"] < 1e-5
