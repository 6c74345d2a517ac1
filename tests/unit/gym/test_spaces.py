"""Observations and actions, against the view and the allocation that they stand for."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from fedradio.core.errors import OwnCodeError
from fedradio.gym import make
from fedradio.gym.spaces import LEAST_SHARE, action_of, allocation_of, most_steps
from fedradio.rounds.planning import decide
from fedradio.spec.spec import Spec


def test_observations_by_hand(toy: Spec) -> None:
    env = make(toy)
    seen, _ = env.reset()
    assert seen["gain_db"] == pytest.approx(-40 * np.log10([40, 60, 5, 80]), rel=1e-5)
    assert seen["loss"].tolist() == [-1] * 4
    assert seen["samples"].sum() == env.simulation.stream.stats(env._round.state.parts["data.stream"])["samples"].sum()
    fleet = env.simulation.hops[0].fleet
    assert fleet is not None
    assert seen["budget_j"] == pytest.approx(fleet.energy_j.numpy())
    assert env.observation_space.contains(seen)


def test_losses_are_seen_after_training(toy: Spec) -> None:
    env = make(toy)
    env.reset()
    seen, *_ = env.step(env.expert_action())
    assert (seen["loss"] > 0).tolist() == [False, False, True, False]


def test_an_allocation_comes_back_from_its_action() -> None:
    env = make("rawhfl", ["rounds=1", "topology.clients_per_edge=5", "model.hidden=[8]", "hops.0.policy.clients=2"])
    env.reset()
    view = env._seen.view
    alloc, _ = decide(env.simulation, env._round.state, env._seen)
    action = action_of(alloc, view, env.max_steps)
    assert env.action_space.contains(action)
    back = allocation_of(action, view)
    active = alloc.active
    assert torch.equal(back.active, active)
    assert torch.equal(back.steps, alloc.steps)
    assert back.cpu_hz is not None
    assert alloc.cpu_hz is not None
    assert torch.allclose(back.cpu_hz[active], alloc.cpu_hz[active], rtol=1e-12)


def test_an_action_without_shares_means_the_highest_values(toy: Spec) -> None:
    env = make(toy)
    env.reset()
    view = env._seen.view
    assert view.fleet is not None
    alloc = allocation_of({"select": np.ones(view.senders), "steps": np.ones(view.senders)}, view)
    assert alloc.cpu_hz is not None
    assert alloc.power_w is not None
    assert torch.equal(alloc.cpu_hz, view.fleet.f_max_hz.double())
    assert torch.equal(alloc.power_w, view.fleet.p_max_w.double())


def test_shares_have_a_least_value(toy: Spec) -> None:
    env = make(toy)
    env.reset()
    alloc, _ = decide(env.simulation, env._round.state, env._seen)
    weak = action_of(alloc, env._seen.view, env.max_steps)["power"]
    assert weak.min() >= LEAST_SHARE


def test_most_steps_of_policies(tiny: Callable[..., Spec], toy: Spec) -> None:
    assert make(toy).max_steps == 2
    assert make(tiny("hops.0.policy={kind: fixed, steps: [2, 7]}")).max_steps == 7
    env = make(tiny("hops.0.policy={kind: fixed, epochs: 2}"))
    assert env.max_steps == 2 * int(env._seen.view.signals["epoch_steps"].max())
    assert most_steps(env.simulation.hops[0].policy, env._seen.view) == env.max_steps
    assert make(tiny(), max_steps=5).max_steps == 5


def test_analogue_links_have_no_power(tiny: Callable[..., Spec]) -> None:
    env = make("whfl", ["rounds=1", "data.source=digits", "model={kind: mlp, hidden: [8]}"])
    assert "power" not in env.action_space.spaces
    assert make(tiny("hops.0.fleet=cellular")).action_space.keys() >= {"cpu", "power"}


def test_an_action_without_steps_is_refused(toy: Spec) -> None:
    env = make(toy)
    env.reset()
    action = env.expert_action()
    with pytest.raises(OwnCodeError, match=r"the action: .* client 2 take part with 0 local steps"):
        env.step(action | {"steps": np.zeros(4, dtype=np.int64)})
