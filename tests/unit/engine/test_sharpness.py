"""Sharpness-aware minimisation: two gradients by hand, every kernel against the reference, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import assert_same, distance
from support.worlds import after, cells, tiny

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core.contracts import Batches, LocalRule, Picks, Start, TrainJob
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.losses.squared_error import SquaredError
from fedradio.models import FlatModel, logistic
from fedradio.rounds.round import begin, run_round

RULES = {
    "sgd": LocalRule(lr=0.1, sharpness=0.5),
    "momentum_prox": LocalRule(lr=0.05, momentum=0.8, prox=0.3, sharpness=0.2),
    "adam": LocalRule(lr=0.01, optimiser="adam", sharpness=0.3),
    "kept": LocalRule(lr=0.05, momentum=0.8, keep_state=True, sharpness=0.1),
}
some = pytest.mark.parametrize


def test_two_steps_on_a_quadratic_by_hand() -> None:
    """The model z = a x + c with targets 0 at x = (3, 4): f = ((3a + c)^2 + (4a + c)^2)/2, a quadratic.

    At (a, c) = (1, 0) the gradient is (3*3 + 4*4, 3 + 4) = (25, 7), of norm sqrt(674). With rho = sqrt(674)/7 the point
    is (1 + 25/7, 1) = (32/7, 1): errors 103/7 and 135/7, gradient ((309 + 540)/7, 238/7) = (849/7, 34). A rate of .01
    moves the model by -(8.49/7, .34)."""
    x, y = torch.tensor([[3.0], [4.0]], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    batches = Batches(Picks(torch.tensor([[[0, 1]]]), torch.tensor([[2]])), None, lambda i: (x[i], y[i]))
    rule = LocalRule(lr=0.01, sharpness=math.sqrt(674.0) / 7.0, loss=SquaredError())
    start = Start(torch.tensor([[1.0, 0.0]]).double(), torch.tensor([0]))
    for backend in (Engine(1), Reference()):
        trained = backend.train(TrainJob(logistic((1,), 1), rule, 0, start, batches, torch.tensor([1]), Rng(0)), [[0]])
        assert trained.delta[0].tolist() == pytest.approx([-8.49 / 7, -0.34])
        assert trained.loss.tolist() == pytest.approx([12.5])


@some("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("model", ["logistic", "mlp", "mlp2", "cnn5x5", "normed", "residual"], indirect=True)
def test_kernels_equal_the_reference(cohort: Callable[..., Any], model: FlatModel, rule: LocalRule) -> None:
    work = cohort(model, rule, shift=True)
    trained = work.run(Engine(1))
    assert_same(trained, work.run(Reference()), 1e-8)
    assert distance(trained.delta, work.with_rule(sharpness=0.0).run(Engine(1)).delta) > 1e-3


def test_a_radius_of_0_is_plain_training() -> None:
    plain, other = (after(tiny(rule=rule), 2) for rule in (sgd(lr=0.1), sgd(lr=0.1, sharpness=0.0)))
    assert torch.equal(plain.memory.shared["w"], other.memory.shared["w"])


def test_two_passes_count_in_cycles_seconds_and_joules() -> None:
    assert sgd(sharpness=0.1).passes() == 2.0
    plain, sharp = (
        run_round(sim, begin(sim), evaluate=False)
        for sim in (cells(rule=sgd(lr=0.1, batch=16, sharpness=rho)) for rho in (0.0, 0.05))
    )
    assert sharp[1].compute_j == pytest.approx(2.0 * (plain[1].compute_j or 0.0))


def test_where_one_gradient_belongs_to_the_algorithm_it_is_refused() -> None:
    with pytest.raises(SpecError, match="one gradient"):
        tiny(rule=replace(sgd(lr=0.1), sharpness=0.1), algorithm=fedcpsl(), unlabelled=0.5)
