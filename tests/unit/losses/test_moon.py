"""MOON and distillation: terms by hand, neutral elements, and the models that are compared."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.reference import Reference
from support.worlds import after, cells, tiny

from fedradio.core.contracts import Batch, LocalRule, Outputs
from fedradio.core.errors import SpecError
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.losses.cross_entropy import CrossEntropy
from fedradio.losses.distil import Distil
from fedradio.losses.moon import Moon
from fedradio.models import logistic
from fedradio.policies.sampling import sampling
from fedradio.rounds.cohort import KEPT_PREVIOUS
from fedradio.rounds.round import begin, run_round

RULE = sgd(lr=0.1, batch=16)


def batch_of(*labels: int) -> Batch:
    y = torch.tensor([labels])
    return Batch(y, torch.full((1, len(labels)), 1 / len(labels)), torch.zeros(1, 0, 2), torch.zeros(1, 0))


def test_moons_term_of_two_samples_by_hand() -> None:
    """tau = 1/2, mu = 2. f = (1, 0) against (1, 0) and (0, 1): s = 1 and 0, log(1 + e^-2) = .126928. f = (3, 4) against
    (4, 3) and (-3, -4): s = 24/25 and -1, log(1 + e^-3.92) = .019647. Logits (0, 0) cost log 2 each:
    .693147 + 2 (.126928 + .019647)/2 = .839722."""
    z = torch.zeros(1, 2, 2)
    features = {
        "w": [[1.0, 0.0], [3.0, 4.0]],
        "received": [[1.0, 0.0], [4.0, 3.0]],
        "previous": [[0.0, 1.0], [-3.0, -4.0]],
    }
    out = {name: Outputs(z, torch.tensor([rows])) for name, rows in features.items()}
    cost, slopes = Moon(temperature=0.5, mu=2.0).slopes(out, batch_of(0, 1))
    assert cost.tolist() == pytest.approx([0.839722], abs=1e-5)
    # of sample 1: ds_r/df = (0, 0), ds_p/df = (0, 1), times mu/2 / tau / (1 + e^2) = .238406
    assert slopes["w"].features is not None
    assert slopes["w"].features[0, 0].tolist() == pytest.approx([0.0, 0.238406], abs=1e-5)


def test_distillation_by_hand() -> None:
    """T = 2, mu = 1: logits 0 against (2 log 3, 0): KL((3/4, 1/4) || (1/2, 1/2)) = log 2 - .562335 = .130812, times 4,
    plus log 2: 1.216395."""
    out = {"w": Outputs(torch.zeros(1, 1, 2)), "received": Outputs(torch.tensor([[[2 * math.log(3.0), 0.0]]]))}
    cost, slopes = Distil(temperature=2.0, mu=1.0).slopes(out, batch_of(0))
    assert cost.tolist() == pytest.approx([1.216395], abs=1e-5)
    # h - y + mu T (softmax(z/T) - softmax(z_r/T)) = -1/2 + 2 (1/2 - 3/4)
    assert slopes["w"].logits[0, 0].tolist() == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize("loss", [Moon(mu=0.0), Distil(mu=0.0)])
def test_without_weight_they_are_cross_entropy(loss: Moon | Distil) -> None:
    plain, other = (after(tiny(rule=replace(RULE, loss=each)), 3) for each in (CrossEntropy(), loss))
    torch.testing.assert_close(plain.memory.shared["w"], other.memory.shared["w"], rtol=1e-4, atol=1e-6)


def test_anchors_cost_a_forward_pass_each() -> None:
    assert LocalRule(lr=0.1, loss=Moon()).passes() == pytest.approx(5 / 3)
    assert LocalRule(lr=0.1, loss=Distil()).passes() == pytest.approx(4 / 3)
    plain, moon = (
        run_round(sim, begin(sim), evaluate=False)[1]
        for sim in (cells(rule=replace(RULE, loss=loss)) for loss in (None, Moon()))
    )
    assert moon.compute_j == pytest.approx(5 / 3 * (plain.compute_j or 0.0))


def test_the_previous_model_is_that_of_the_last_training() -> None:
    """The initial one before it; of clients that stay away it does not move."""
    sim = tiny(rule=replace(RULE, loss=Moon()), policy=sampling(clients=2, steps=3))
    state = begin(sim)
    first = state.memory.shared["w"].clone()
    assert bool((state.memory.client[KEPT_PREVIOUS] == first).all())
    received = first.clone()
    state, _, (exchange,) = run_round(sim, state, evaluate=False)
    kept = state.memory.client[KEPT_PREVIOUS]
    moved = [client for client in range(6) if not torch.equal(kept[client], first)]
    assert moved == list(exchange.ids)
    change = (kept[moved] - received).mean(dim=0)
    torch.testing.assert_close(state.memory.shared["w"] - received, change, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [tiny, cells])
def test_rounds_equal_the_reference(make: object) -> None:
    """On one hop and on two, with previous models over three rounds."""
    states = [after(make(rule=replace(RULE, loss=Moon()), backend=each), 3) for each in (Engine(2), Reference())]  # type: ignore[operator]
    torch.testing.assert_close(*(state.memory.shared["w"] for state in states), rtol=1e-3, atol=1e-5)


def test_features_need_a_hidden_layer() -> None:
    with pytest.raises(SpecError, match="no hidden layer"):
        tiny(rule=replace(RULE, loss=Moon()), model=logistic)
