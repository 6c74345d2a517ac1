"""Agents on the toy world, where the best arm is known, and the bandit's bounds by hand."""

import numpy as np
import pytest

from fedradio.gym import make
from fedradio.gym.agents import Bandit, Expert, RandomSelection, play
from fedradio.spec.spec import Spec

NEAR = 2


def test_upper_bounds_by_hand() -> None:
    bandit = Bandit(1, explore=3.0, count=np.array([8.0, 2.0, 0.0]), mean=np.array([0.5, 0.4, 0.0]))
    bandit._made = 10
    assert bandit.scores() == pytest.approx([1.157, 1.714, np.inf], abs=1e-3)


def test_means_by_hand(toy: Spec) -> None:
    bandit, env = Bandit(1), make(toy)
    env.reset()
    bandit.begin(env, 1)
    for arrived in (True, False, True):
        bandit.learn({"select": np.array([0, 1, 0, 0])}, 0.0, {"arrived": np.array([False, arrived, False, False])})
    assert bandit.count.tolist() == [0, 3, 0, 0]
    assert bandit.mean[1] == pytest.approx(2 / 3)


@pytest.mark.parametrize("payoff", ["arrivals", "reward"])
def test_the_bandit_finds_the_best_arm(toy: Spec, payoff: str) -> None:
    """Only the near client makes the deadline: it is selected most, and every other one was tried."""
    spec = Spec(dict(toy.plain) | {"rounds": 60, "eval_every": 60})
    env = make(spec, reward=lambda step: float(sum(step.exchange.arrived)))
    bandit = Bandit(1) if payoff == "arrivals" else Bandit(1, payoff=lambda reward, _: np.full(4, reward))
    episode = play(env, bandit, seed=1)
    assert bandit.count.argmax() == NEAR
    assert bandit.count.min() > 0
    assert bandit.mean.tolist() == [0, 0, 1, 0]
    assert episode.rewards == episode.arrived == bandit.count[NEAR]
    chance = play(env, RandomSelection(1), seed=1)
    assert episode.arrived > 1.5 * chance.arrived
    expert = play(env, Expert(), seed=1)
    assert expert.arrived == expert.selected == 60  # it looks before it leaps
    assert expert.joules < episode.joules


def test_agents_that_play_the_same_seed_play_the_same(toy: Spec) -> None:
    env = make(toy)
    assert play(env, RandomSelection(1), 5) == play(env, RandomSelection(1), 5)
    assert play(env, Bandit(2), 5) == play(env, Bandit(2), 5)
