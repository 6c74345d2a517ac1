"""The device side: masks, kept state, divergence."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from support.worlds import after, tiny
from torch import Tensor

from fedradio.algorithms.apfl import Personal, costs
from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import Hop, LocalRule, Stream, Topology, Trained, TrainJob
from fedradio.core.errors import DivergenceError
from fedradio.engine import Engine
from fedradio.engine.rules import adam, sgd
from fedradio.links.ideal import ideal
from fedradio.models.model import wrap
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.cohort import Training, train
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation, compose
from fedradio.rounds.tiers import start_tiers


def test_divergence_names_round_and_clients() -> None:
    wild = sgd(lr=10000, batch=16, momentum=0.99)
    sim = tiny(rule=wild, policy=fixed(steps=40), algorithm=fedavg(server_lr=10000))
    with pytest.raises(DivergenceError, match=r"round \d+: .* client\(s\)") as caught:
        after(sim, 20)
    assert caught.value.clients


def test_adam_state_is_kept_per_client_and_only_for_the_active() -> None:
    sim = tiny(rule=adam(lr=0.01, batch=16), policy=sampling(clients=2, steps=3))
    state, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    counts = state.memory.client["rule/adam_n"]
    assert counts.tolist() == [3.0 if active else 0.0 for active in exchange.dense(6).active]
    moved = state.memory.client["rule/adam_m"].abs().sum(dim=1) > 0
    assert moved.tolist() == exchange.dense(6).active


def test_dropout_masks_belong_to_the_client() -> None:
    """A client's change is the same whoever else is active, also with dropout."""
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 10)
    )
    sim = replace(tiny(), model=wrap(net, (1, 8, 8), 10))
    begun = begin(sim)
    tiers = start_tiers(sim.topology, begun.memory)
    planned, state = plan_exchange(sim, begun, tiers, 0, sim.clock(0, 0))
    everyone = train(sim, state, tiers[0], planned.x).trained.delta
    one = planned.x.alloc.active & (torch.arange(6) == 4)
    alone = train(sim, state, tiers[0], replace(planned.x, alloc=replace(planned.x.alloc, active=one)))
    assert alone.cohort.ids.tolist() == [4]
    assert torch.equal(alone.trained.delta[0], everyone[4])


@pytest.fixture
def pairs(tree: Callable[..., Topology], holding: Callable[..., Stream]) -> Callable[[float, float], Simulation]:
    """Two clients with one sample each, of the given features; shared models learn at rate 1, own ones at 1e38."""

    def make(*x: float) -> Simulation:
        return compose(
            topology=tree((0, 0)),
            hops=[Hop(ideal(), fixed(steps=1))],
            stream=holding((1, 1), x=x),
            model=logistic((1,), 2),
            algorithm=Personal(loss=costs(0.0, 0.0, lr_factor=1e38)),
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
    with pytest.raises(DivergenceError, match=r"round 1: local training .* client\(s\) 1;") as caught:
        run_round(sim, begin(sim), evaluate=False)
    assert caught.value.clients == [1]


class Poisoned(Engine):
    """An engine after whose training the second client's norm layers hold a NaN."""

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        trained = super().train(job, groups)
        assert trained.local is not None
        local = trained.local.clone()
        local[1, 0] = torch.nan
        return replace(trained, local=local)


def test_norm_layers_that_diverge_are_reported_with_their_client() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
    sim = replace(tiny(), model=wrap(torch.nn.Sequential(net, torch.nn.Linear(8, 10)), (1, 8, 8), 10))
    run_round(sim, begin(sim), evaluate=False)
    with pytest.raises(DivergenceError, match="local training") as caught:
        run_round(replace(sim, backend=Poisoned(1)), begin(sim), evaluate=False)
    assert caught.value.clients == [1]


@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_a_rate_over_the_clients_own_steps(momentum: float) -> None:
    """Clients with 1, 2 and 4 steps train as alone at lr/1, lr/2 and lr/4; the work says so to receivers."""
    steps = torch.tensor([4, 1, 2, 4, 1, 2])
    rule = sgd(lr=0.4, batch=16, momentum=momentum, updates_per_step=2, lr_per_step=True)

    def trained(rule: LocalRule, steps: Tensor) -> Training:
        sim = tiny(rule=rule)
        begun = begin(sim)
        tiers = start_tiers(sim.topology, begun.memory)
        planned, state = plan_exchange(sim, begun, tiers, 0, sim.clock(0, 0))
        alloc = replace(planned.x.alloc, active=steps > 0, steps=steps)
        return train(sim, state, tiers[0], replace(planned.x, alloc=alloc))

    found = trained(rule, steps)
    for number in (1, 2, 4):
        alone = trained(replace(rule, lr=0.4 / number, lr_per_step=False), torch.where(steps == number, steps, 0))
        rows = (steps == number).nonzero().flatten()
        assert torch.allclose(found.trained.delta[rows], alone.trained.delta, atol=1e-6)
        assert torch.allclose(found.trained.loss[rows], alone.trained.loss, atol=1e-6)
        assert torch.allclose(found.work.rate[rows], alone.work.rate)
    assert found.work.rate.tolist() == pytest.approx([0.8] * 6)  # two updates a step at lr/steps each


def test_a_rate_over_one_step_is_the_rate() -> None:
    """With one step each it is neutral, bit for bit, also for adaptive slots of momentum that is kept."""
    rule = sgd(lr=0.2, batch=16, momentum=0.5, keep_state=True)
    plain, divided = (
        after(tiny(rule=each, policy=fixed(steps=1)), 2) for each in (rule, replace(rule, lr_per_step=True))
    )
    assert torch.equal(plain.memory.shared["w"], divided.memory.shared["w"])
    assert torch.equal(plain.memory.client["rule/momentum"], divided.memory.client["rule/momentum"])
