"""Personal parameters: they train, stay with the client, and are never part of a payload (FedPer, FedRep)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import assert_same
from support.worlds import after, cells, tiny
from torch import nn

from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import LocalRule, Model
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.partition import shards
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.models import mlp, wrap
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.norm_layers import LOCAL
from fedradio.rounds.round import begin, run_round

HEAD = 16 * 10 + 10


def two_parts(shape: tuple[int, ...], classes: int) -> Model:
    return mlp(shape, classes, hidden=(16,)).personalised(["3.*"])


def test_a_row_has_the_body_first_and_the_head_behind() -> None:
    plain = mlp((64,), 10, hidden=(16,))
    model = plain.personalised(["3.*"])
    assert (model.shared.size, model.local.size) == (64 * 16 + 16, HEAD)
    assert model.personal == {"3.weight", "3.bias"}
    same, other = plain.views(plain.init(Rng(1))), model.views(model.init(Rng(1)))
    assert all(torch.equal(same[name], other[name]) for name in same)
    x = torch.randn(3, 64, generator=Rng(2).torch())
    torch.testing.assert_close(plain.apply(plain.init(Rng(1)), x), model.apply(model.init(Rng(1)), x))
    front = plain.personalised(["1.*"])
    torch.testing.assert_close(plain.apply(plain.init(Rng(1)), x), front.apply(front.init(Rng(1)), x))


@pytest.mark.parametrize(("globs", "reason"), [(["9.*"], "no parameter"), (["*"], "nothing is left")])
def test_wrong_names_are_refused(globs: list[str], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        mlp((64,), 10).personalised(globs)


def test_norm_layers_that_are_sent_are_refused() -> None:
    with pytest.raises(SpecError, match="norm layers"):
        wrap(nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2)), (4,), 2).personalised(["2.*"])


def test_shared_bits_count_the_body_only_and_a_head_is_never_sent() -> None:
    """32 bits for each of 64 16 + 16 numbers, of six clients; the server's vectors are as long as the body."""
    sim = tiny(model=two_parts, algorithm=scaffold())
    assert sim.message(0).size == 64 * 16 + 16
    state, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.bits == 6 * 2 * 32 * (64 * 16 + 16)
    assert {len(vector) for vector in state.memory.shared.values()} == {64 * 16 + 16}
    heads = state.memory.client[LOCAL]
    assert heads.shape == (6, HEAD)
    assert len({tuple(row[:5].tolist()) for row in heads}) == 6


def test_a_head_stays_with_its_client() -> None:
    sim = tiny(model=two_parts, policy=sampling(clients=2, steps=3))
    state = begin(sim)
    first = state.memory.client[LOCAL].clone()
    state, _, (exchange,) = run_round(sim, state, evaluate=False)
    moved = [client for client in range(6) if not torch.equal(state.memory.client[LOCAL][client], first[client])]
    assert moved == list(exchange.ids)


def test_in_the_first_steps_heads_train_alone_and_then_bodies_alone() -> None:
    """FedRep: with as many personal steps as steps the body rests; the body's steps leave the head where it was."""
    rule = sgd(lr=0.1, batch=16, momentum=0.5, personal_steps=3)
    sim = tiny(model=two_parts, rule=rule)
    before = begin(sim)
    w, heads = before.memory.shared["w"].clone(), before.memory.client[LOCAL].clone()
    state, _, _ = run_round(sim, before, evaluate=False)
    assert torch.equal(state.memory.shared["w"], w)
    assert not torch.equal(state.memory.client[LOCAL], heads)
    fewer = replace(rule, personal_steps=2)
    three, two = (after(tiny(model=two_parts, rule=fewer, policy=fixed(steps=steps)), 1) for steps in (3, 2))
    assert not torch.equal(three.memory.shared["w"], w)
    torch.testing.assert_close(three.memory.client[LOCAL], two.memory.client[LOCAL], rtol=0, atol=0)


RULES = {
    "together": LocalRule(lr=0.1),
    "apart": LocalRule(lr=0.1, personal_steps=2),
    "momentum": LocalRule(lr=0.05, momentum=0.8, keep_state=True, personal_steps=1),
    "adam": LocalRule(lr=0.01, optimiser="adam", personal_steps=2),
    "sharp": LocalRule(lr=0.1, sharpness=0.2, personal_steps=1),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("names", [["3.*"], ["1.bias"]])
def test_kernels_equal_the_reference(cohort: Callable[..., Any], rule: LocalRule, names: list[str]) -> None:
    work = cohort(mlp((12,), 5, hidden=(16,)).personalised(names), rule)
    assert_same(work.run(Engine(1)), work.run(Reference()), 1e-8)


def test_every_client_predicts_with_its_own_head() -> None:
    """Two labels a client and tests of its own: heads know them, and beat one shared model after a few rounds."""
    skewed = partial(shards, per_client=2)
    scores = []
    for model in (partial(mlp, hidden=(16,)), two_parts):
        sim = tiny(model=model, partition=skewed, test="client", rule=sgd(lr=0.1, batch=16))
        state = begin(sim)
        for _ in range(4):
            state, record, _ = run_round(sim, state)
        scores.append(record.metrics["accuracy"])
    assert scores[1] > scores[0] + 0.1


def test_steps_of_personal_parameters_need_some() -> None:
    with pytest.raises(SpecError, match="no parameter is personal"):
        cells(rule=sgd(lr=0.1, personal_steps=1))


def test_they_work_on_two_hops() -> None:
    sim = cells(model=two_parts)
    state, record, _ = run_round(sim, begin(sim))
    assert record.metrics["accuracy"] > 0
    assert state.memory.client[LOCAL].shape == (6, HEAD)
