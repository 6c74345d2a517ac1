"""Receiver rules after a merge, and in rounds against a calculation in float64."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.server_optimisers import fedadam, fedavgm, fedyogi
from fedradio.core.contracts import Algorithm, Backend, Clock, Hop, ReceiverRule, Stream, Topology
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed
from fedradio.receivers.adaptive import adam, yogi
from fedradio.receivers.momentum import momentum
from fedradio.rounds.merge import optimised
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import compose

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def test_the_model_takes_the_step_and_other_vectors_move_as_merged() -> None:
    """Change 2, rate 3: w goes from 1 to 7; a receiver that heard nobody stays."""
    before = {"w": torch.ones(2, 1), "c": torch.zeros(2, 1)}
    merged = {"w": torch.full((2, 1), 3.0), "c": torch.ones(2, 1)}
    rule = momentum(beta=0.5, lr=3.0)
    heard = torch.tensor([True, False])
    shared, slots = optimised(rule, before, merged, heard, rule.start(2, torch.zeros(1)), Clock(0))
    assert shared["w"].tolist() == [[7.0], [1.0]]
    assert torch.equal(shared["c"], merged["c"])
    assert slots["v"].tolist() == [[2.0], [0.0]]


def test_a_rule_that_does_nothing_leaves_the_merge_as_it_is() -> None:
    before, merged = {"w": torch.randn(2, 3)}, {"w": torch.randn(2, 3)}
    rule = momentum(beta=0.0)
    shared, _ = optimised(rule, before, merged, torch.tensor([True, True]), rule.start(2, before["w"][0]), Clock(0))
    assert shared is merged


LR, BETA, BETA2, TAU = 0.05, 0.9, 0.99, 0.01


def oracle(name: str, changes: list[Floats]) -> Floats:
    """Steps ``[rounds, n]`` of momentum, adam or yogi for the changes ``[n]`` of every round."""
    m, v, steps = np.zeros_like(changes[0]), np.full_like(changes[0], TAU**2), []
    for change in changes:
        if name == "momentum":
            m = BETA * m + change
            steps.append(LR * m)
            continue
        m = BETA * m + (1 - BETA) * change
        square = change**2
        adam_v = BETA2 * v + (1 - BETA2) * square
        v = adam_v if name == "adam" else v - (1 - BETA2) * square * np.sign(v - square)
        steps.append(LR * m / (np.sqrt(v) + TAU))
    return np.array(steps)


RULES: dict[str, ReceiverRule] = {
    "momentum": momentum(beta=BETA, lr=LR),
    "adam": adam(lr=LR, beta1=BETA, beta2=BETA2, tau=TAU),
    "yogi": yogi(lr=LR, beta1=BETA, beta2=BETA2, tau=TAU),
}

KINDS: dict[str, Algorithm] = {
    "momentum": fedavgm(beta=BETA, lr=LR),
    "adam": fedadam(lr=LR, beta1=BETA, beta2=BETA2, tau=TAU),
    "yogi": fedyogi(lr=LR, beta1=BETA, beta2=BETA2, tau=TAU),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("place", ["edges", "server", "algorithm"])
def test_five_rounds_at_every_tier(
    name: str,
    place: str,
    tree: Callable[..., Topology],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
) -> None:
    """Clients 0 and 1 (1 and 3 samples) below edge 0, client 2 (4 samples) below edge 1; changes 1, -.2 and .3.

    Edges hear .25 * 1 - .75 * .2 = .1 and .3, the server half of each, .2. A rule of the edges steps before the mean
    over them, one of the server behind it; the algorithm kinds are the latter.
    """
    hops = [
        Hop(ideal(), fixed(steps=1), receiver=RULES[name] if place == "edges" else None),
        Hop(ideal(), fixed(), receiver=RULES[name] if place == "server" else None),
    ]
    sim = compose(
        topology=tree((0, 0, 1), (0, 0)),
        hops=hops,
        stream=holding((1, 3, 4)),
        model=logistic((1,), 2),
        algorithm=KINDS[name] if place == "algorithm" else fedavg(),
        rule=sgd(),
    )
    factors = (1.0, 0.5, -1.0, 0.1, 2.0)
    edges = [factor * np.array([0.1, 0.3]) for factor in factors]
    expected = oracle(name, edges if place == "edges" else [one.mean(keepdims=True) for one in edges]).mean(axis=1)
    state = begin(sim)
    for factor, step in zip(factors, expected, strict=True):
        before = state.memory.shared["w"].double()
        sim = replace(sim, backend=given_changes((factor * 1.0, factor * -0.2, factor * 0.3)))
        state, record, _ = run_round(sim, state, evaluate=False)
        moved = (state.memory.shared["w"].double() - before).numpy()
        assert moved == pytest.approx(np.full(len(moved), step), rel=1e-4, abs=1e-6)
        assert record.bits == [3 * 32.0 * len(moved), 2 * 32.0 * len(moved)]
    path = "hops.0.receiver" if place == "edges" else "hops.1.receiver"
    assert list(state.parts) == ["data.stream", path]
