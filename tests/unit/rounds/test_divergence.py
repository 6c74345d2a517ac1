"""Models that leave the finite numbers are reported, with the round and the clients."""

from collections.abc import Callable

import pytest
import torch

from fedradio import DivergenceError, Hop, Simulation, begin, compose, run_round
from fedradio.algorithms.apfl import Personal, costs
from fedradio.core.contracts import Stream, Topology
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed


@pytest.fixture
def pairs(tree: Callable[..., Topology], holding: Callable[..., Stream]) -> Callable[[float, float], Simulation]:
    """Two clients with one sample each, of the given features; shared models learn at rate 1, own ones at 1e38."""

    def make(*x: float) -> Simulation:
        return compose(
            topology=tree((0, 0)),
            hops=[Hop(ideal(), fixed(steps=1))],
            stream=holding((1, 1), x=x),
            model=logistic((1,), 2),
            algorithm=Personal(objective=costs(0.0, 0.0, lr_factor=1e38)),
            rule=sgd(lr=1.0, batch=1),
        )

    return make


def test_own_models_that_overflow_are_reported(pairs: Callable[[float, float], Simulation]) -> None:
    """``v -= eta_own x b (h - y)``; from zero ``h = (1/2, 1/2)``, and the own model's weight in the mixture is b = .75.

    One step moves the own model's first param by ``1e38 * .75 * .5 x = 3.75e37 x``. By hand: 3.75e37 for x = 1, but
    3.75e38 for x = 10, beyond the largest float32, 3.40e38. The shared model moves by 5 at most, and every loss is
    ``log 2``.
    """
    sim = pairs(1.0, 1.0)
    state, record, _ = run_round(sim, begin(sim), evaluate=False)
    assert record.train_loss == pytest.approx(0.693147, abs=1e-6)
    assert state.memory.client["own"][:, 0].tolist() == pytest.approx([3.75e37, 3.75e37])
    assert torch.isfinite(state.memory.shared["w"]).all()
    sim = pairs(1.0, 10.0)
    with pytest.raises(DivergenceError, match=r"round 0: local training .* client\(s\) 1;") as caught:
        run_round(sim, begin(sim), evaluate=False)
    assert caught.value.clients == [1]
