"""The environment: Gymnasium's checks, the same world as a run, and rewards that add up."""

import warnings
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from fedradio.core.errors import SpecError
from fedradio.gym import make
from fedradio.gym.environment import Step
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

RAWHFL = ["rounds=2", "topology.clients_per_edge=5", "model.hidden=[8]", "hops.0.policy.clients=2", "hops.0.period=2"]


def test_gymnasium_accepts_it(toy: Spec) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recommendations on ranges: ours have units
        check_env(make(toy), skip_render_check=True)
        check_env(make("rawhfl", RAWHFL), skip_render_check=True)


def test_the_expert_plays_the_run_of_its_policy() -> None:
    """Acting as the spec's policy is the run itself: arrivals, joules and accuracies of every edge round."""
    env = make("rawhfl", RAWHFL)
    sim = build(env._run_spec)
    state, exchanges, accuracies = begin(sim), [], []
    for _ in range(2):
        state, record, made = run_round(sim, state)
        exchanges += [each for each in made if each.hop == 0]
        accuracies.append(record.metrics["accuracy"])
    env.reset(seed=env._run_spec.seed)
    over, played, rewards = False, [], []
    while not over:
        _, reward, over, _, info = env.step(env.expert_action())
        played.append(info)
        rewards.append(reward)
    assert len(played) == len(exchanges) == 4
    for info, exchange in zip(played, exchanges, strict=True):
        assert info["arrived"].nonzero()[0].tolist() == [i for i, ok in zip(exchange.ids, exchange.arrived) if ok]  # noqa: B905
        assert info["joules"] == pytest.approx(sum(exchange.joules or ()), rel=1e-9)
    assert rewards == pytest.approx([0, accuracies[0], 0, accuracies[1] - accuracies[0]])
    assert played[-1]["accuracy"] == pytest.approx(accuracies[-1])


def test_caches_are_served_as_in_a_run() -> None:
    env = make("rawhfl_cache", ["rounds=1", "model.hidden=[8]"])
    sim = build(env._run_spec)
    _, record, _ = run_round(sim, begin(sim))
    env.reset(seed=env._run_spec.seed)
    over = False
    while not over:
        _, _, over, _, info = env.step(env.expert_action())
    assert info["accuracy"] == pytest.approx(record.metrics["accuracy"])
    assert len(env._round.caches) == sim.edge_rounds


def test_ages_count_edge_rounds_since_an_arrival(toy: Spec) -> None:
    env = make(toy)
    first, _ = env.reset(seed=1)
    assert first["age"].tolist() == [0, 0, 0, 0]
    action = env.action_space.sample()
    action |= {"select": np.array([1, 0, 1, 0]), "cpu": np.ones(4), "power": np.ones(4), "steps": np.ones(4, dtype=int)}
    for round_ in (1, 2):
        seen, _, _, _, info = env.step(action)
        assert info["arrived"].tolist() == [False, False, True, False]
        assert seen["age"].tolist() == [round_, round_, 0, round_]


def test_seeds_make_worlds(toy: Spec) -> None:
    env = make(toy)
    assert env.reset()[1]["seed"] == 3  # the spec's own, then others that follow from it
    later = env.reset()[1]["seed"]
    assert later != 3
    again = make(toy)
    assert [again.reset()[1]["seed"], again.reset()[1]["seed"]] == [3, later]


def test_rewards_of_ones_own(toy: Spec) -> None:
    steps: list[Step] = []

    def price(step: Step) -> float:
        steps.append(step)
        return -step.joules

    env = make(toy, reward=price)
    env.reset()
    _, reward, *_, info = env.step(env.expert_action())
    assert reward == -info["joules"] < 0
    assert steps[0].round is not None
    assert steps[0].gain == steps[0].round.metrics["accuracy"]


def test_nobody_may_be_selected(tiny: Callable[..., Spec]) -> None:
    env = make(tiny())
    env.reset()
    action = env.action_space.sample() | {"select": np.zeros(6, dtype=np.int8)}
    assert set(action) == {"select", "steps"}  # without a fleet there is neither CPU nor power
    assert not env.step(action)[-1]["arrived"].any()


def test_an_episode_ends(tiny: Callable[..., Spec]) -> None:
    env = make(tiny("rounds=1"))
    env.reset()
    assert env.step(env.expert_action())[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(env.expert_action())


def test_divergence_takes_back_what_was_gained(tiny: Callable[..., Spec]) -> None:
    env = make(tiny("rounds=30", "rule.lr=10000"))
    env.reset()
    total, over, info = 0.0, False, {}
    while not over:
        _, reward, over, _, info = env.step(env.expert_action())
        total += reward
    assert info == {"diverged": True}
    assert total == pytest.approx(0)


def test_wrong_steps_are_refused(tiny: Callable[..., Spec]) -> None:
    with pytest.raises(SpecError, match="max_steps"):
        make(tiny(), max_steps=0)
