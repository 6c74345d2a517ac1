"""What an engine keeps between evaluations: every member once, own models only after training; the same results."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from support.worlds import tiny
from torch import Tensor

from fedradio.algorithms.apfl import apfl
from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core.contracts import Algorithm, Ensemble, EvalJob, SimState, TestSet
from fedradio.core.rng import Rng
from fedradio.engine import Engine, memo
from fedradio.engine.evaluate import evaluate
from fedradio.engine.memo import Memo
from fedradio.models import FlatModel, logistic
from fedradio.policies.sampling import sampling
from fedradio.rounds.evaluation import Evaluation, evaluation
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation

ALGORITHMS = {"apfl": apfl, "fedcpsl": partial(fedcpsl, unlabelled_batch=None)}
CLIENTS, ACTIVE = 6, 2


def world(algorithm: Algorithm, test: str = "client") -> Simulation:
    return tiny(
        algorithm=algorithm, test=test, unlabelled=0.5, policy=sampling(clients=ACTIVE, steps=2), workers=1, eval_top=2
    )


def counted(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Samples that go through the model in evaluations, from now on."""
    seen: list[int] = []
    apply = sim.model.apply
    monkeypatch.setattr(sim.model, "apply", lambda row, x: (seen.append(len(x)), apply(row, x))[1])
    return seen


def play(sim: Simulation, state: SimState, rounds: int) -> tuple[SimState, list[Evaluation]]:
    results = []
    for _ in range(rounds):
        state, _, _ = run_round(sim, state, evaluate=False)
        results.append(evaluation(sim, state))
    return state, results


@pytest.mark.parametrize("test", ["client", "source"])
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_six_rounds_with_and_without(kind: str, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All metrics and groups, within 1e-10; 3 rounds and 3 of a resumed run are the 6 rounds, bit for bit."""
    sim = world(ALGORITHMS[kind](), test)
    _, kept = play(sim, begin(sim), 6)
    state, first = play(sim, begin(sim), 3)
    anew = replace(sim, backend=Engine(1))
    client = {name: rows.clone() for name, rows in state.memory.client.items()}
    _, last = play(anew, replace(state, memory=replace(state.memory, client=client)), 3)
    assert [one.metrics for one in first + last] == [one.metrics for one in kept]
    assert [one.groups for one in first + last] == [one.groups for one in kept]
    monkeypatch.setattr(memo, "REMEMBER", False)
    other = replace(sim, backend=Engine(1))
    _, plain = play(other, begin(other), 6)
    for one, two in zip(kept, plain, strict=True):
        assert one.metrics == pytest.approx(two.metrics, abs=1e-10)
        assert one.groups == two.groups


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_samples_through_a_model(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of n test samples at most 2n the first time, later n and those of the clients that have trained since."""
    sim = world(ALGORITHMS[kind]())
    seen, state = counted(sim, monkeypatch), begin(sim)
    bounds = sim.stream.test().bounds()
    sizes, n = [hi - lo for lo, hi in bounds], len(sim.stream.test().index)
    evaluation(sim, state)
    assert sum(seen) == 2 * n
    for _ in range(3):
        state, _, (exchange,) = run_round(sim, state, evaluate=False)
        seen.clear()
        evaluation(sim, state)
        assert sum(seen) == n + sum(sizes[client] for client in exchange.ids or range(CLIENTS))
    seen.clear()
    evaluation(sim, state)
    assert sum(seen) == n  # the shared model alone


def _job(rows: Tensor, model: FlatModel, test: TestSet, kept: bool = True) -> EvalJob:
    return EvalJob(model, Ensemble((rows,), kept=(kept,)), test, None)


def test_what_cannot_be_trusted_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes that training does not explain, another tensor, unknown clients, members that are not kept."""
    model, g = logistic((3,), 2), Rng(0).torch()
    x, y = torch.randn(8, 3, generator=g), torch.arange(8) % 2
    test = TestSet(torch.arange(8), torch.arange(4).repeat_interleave(2), 4, True, lambda index: (x[index], y[index]))
    seen: list[int] = []
    apply = model.apply
    monkeypatch.setattr(model, "apply", lambda row, x: (seen.append(len(x)), apply(row, x))[1])
    rows, known = torch.randn(4, model.size, generator=g), Memo()

    def samples(job: EvalJob) -> int:
        seen.clear()
        scores = evaluate(job, 1, memo=known)
        used = sum(seen)
        assert scores.loss == evaluate(job, 1).loss
        return used

    assert samples(_job(rows, model, test)) == 8
    assert samples(_job(rows, model, test)) == 0
    known.trained(torch.tensor([1]))
    rows.index_copy_(0, torch.tensor([1]), rows[:1] + 1)
    assert samples(_job(rows, model, test)) == 2
    known.trained(torch.tensor([1]))
    rows.index_copy_(0, torch.tensor([1, 3]), rows[:2] + 1)  # client 3 was trained by another engine
    assert samples(_job(rows, model, test)) == 4
    rows[2] += 1.0  # nobody has trained
    assert samples(_job(rows, model, test)) == 8
    known.trained(torch.tensor([1]))
    rows[2] += 1.0
    rows[3] += 1.0  # two writes for one training
    assert samples(_job(rows, model, test)) == 8
    known.trained(None)
    assert samples(_job(rows, model, test)) == 8
    assert samples(_job(rows.clone(), model, test)) == 8
    assert samples(_job(rows, model, replace(test))) == 8
    rows += 1.0
    assert samples(_job(rows, model, test, kept=False)) == 8


def test_too_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = world(apfl())
    monkeypatch.setattr(memo, "MOST_BYTES", 10)
    seen, state = counted(sim, monkeypatch), begin(sim)
    evaluation(sim, state)
    assert sum(seen) == 4 * len(sim.stream.test().index)


def test_sums_of_bits_by_hand() -> None:
    """1.0 is 0x3f800000 = 1065353216, 2.0 is 2^30, and -0.0 the sign bit alone, -2^31."""
    assert memo.checksums(torch.tensor([[1.0, 2.0], [-0.0, 0.0]])).tolist() == [1065353216 + 2**30, -(2**31)]
    assert memo.checksums(torch.ones(1, 2, dtype=torch.float64)).tolist() == [2 * 0x3FF0000000000000]
