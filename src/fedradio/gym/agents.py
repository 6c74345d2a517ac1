"""Simple agents to start from and to compare with: random selection, a bandit over clients, and the spec's own policy.

The bandit is combinatorial UCB (Chen, Wang, Yuan, ICML 2013) with a payoff for every selected client: of each
receiver it selects the ``m`` clients with the largest ``mean_i + sqrt(explore ln n / (2 n_i))``, where client ``i``
was selected ``n_i`` times in ``n`` edge rounds; clients that were never selected come first.

By hand: means 0.5 and 0.4 after 8 and 2 of 10 edge rounds and ``explore = 3`` give the scores ``0.5 + sqrt(3 ln 10 /
16) = 1.157`` and ``0.4 + sqrt(3 ln 10 / 4) = 1.714``: the second client is selected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from fedradio.core.params import group_rank
from fedradio.core.rng import Rng
from fedradio.gym.environment import PolicyEnv
from fedradio.gym.spaces import Arrays

Payoff = Callable[[float, dict[str, Any]], NDArray[Any]]
"""What every client earned in an edge round, ``[C]``, from its reward and info."""


class Agent(Protocol):
    """Something that acts in an environment, and may learn from what it earns."""

    def begin(self, env: PolicyEnv, seed: int) -> None:
        """An episode begins; nothing is known."""

    def act(self, env: PolicyEnv, observation: Arrays) -> Arrays:
        """The action in this edge round."""
        ...

    def learn(self, action: Arrays, reward: float, info: dict[str, Any]) -> None:
        """What the action has earned."""


@dataclass(frozen=True)
class Episode:
    """An episode: the ``accuracy`` at its end, all ``joules``, selected clients and those of them that ``arrived``."""

    accuracy: float
    joules: float
    selected: int
    arrived: int
    rewards: float


def play(env: PolicyEnv, agent: Agent, seed: int) -> Episode:
    """One episode of an agent; agents that play the same seed see the same world."""
    observation, info = env.reset(seed=seed)
    agent.begin(env, seed)
    joules, selected, arrived, rewards, over = 0.0, 0, 0, 0.0, False
    while not over:
        action = agent.act(env, observation)
        observation, reward, over, _, info = env.step(action)
        if "diverged" in info:
            return Episode(0.0, joules, selected, arrived, rewards + reward)
        agent.learn(action, reward, info)
        joules, rewards = joules + info["joules"], rewards + reward
        selected, arrived = selected + int(action["select"].sum()), arrived + int(info["arrived"].sum())
    return Episode(info["accuracy"], joules, selected, arrived, rewards)


@dataclass
class RandomSelection:
    """``clients`` of each receiver, drawn uniformly, with given ``steps`` at full CPU and power."""

    clients: int
    steps: int = 1

    def begin(self, env: PolicyEnv, seed: int) -> None:
        self._rng = Rng(seed).child("agent").numpy()

    def act(self, env: PolicyEnv, observation: Arrays) -> Arrays:
        return best_of(env, self._rng.random(len(observation["able"])), self.clients, self.steps)

    def learn(self, action: Arrays, reward: float, info: dict[str, Any]) -> None:
        pass


def arrivals(reward: float, info: dict[str, Any]) -> NDArray[Any]:
    """A payoff of 1 for a payload that arrived, of 0 for one that did not."""
    return np.asarray(info["arrived"], dtype=np.float64)


@dataclass
class Bandit:
    """Upper confidence bounds on the payoff of every client; it looks at nothing but what it has earned."""

    clients: int
    steps: int = 1
    explore: float = 3.0
    payoff: Payoff = arrivals
    count: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    mean: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def begin(self, env: PolicyEnv, seed: int) -> None:
        size = env.simulation.topology.clients
        self.count, self.mean, self._made = np.zeros(size), np.zeros(size), 0
        self._rng = Rng(seed).child("agent").numpy()

    def scores(self) -> NDArray[np.float64]:
        """The upper bounds ``[C]``; infinite for clients that were never selected."""
        width = np.sqrt(self.explore * np.log(max(self._made, 1)) / (2 * self.count.clip(min=1)))
        return np.where(self.count > 0, self.mean + width, np.inf)

    def act(self, env: PolicyEnv, observation: Arrays) -> Arrays:
        ties = self._rng.permutation(len(self.count))  # equal scores in random order
        rank = np.lexsort((ties, -self.scores()))
        worth = np.empty(len(rank))
        worth[rank] = np.arange(len(rank), 0, -1)
        return best_of(env, worth, self.clients, self.steps)

    def learn(self, action: Arrays, reward: float, info: dict[str, Any]) -> None:
        chosen = np.asarray(action["select"], dtype=np.bool_)
        self._made += 1
        self.count[chosen] += 1
        step = (self.payoff(reward, info) - self.mean)[chosen] / self.count[chosen]
        self.mean[chosen] += step


class Expert:
    """The policy of the spec itself."""

    def begin(self, env: PolicyEnv, seed: int) -> None:
        pass

    def act(self, env: PolicyEnv, observation: Arrays) -> Arrays:
        return env.expert_action()

    def learn(self, action: Arrays, reward: float, info: dict[str, Any]) -> None:
        pass


def best_of(env: PolicyEnv, worth: NDArray[Any], clients: int, steps: int) -> Arrays:
    """The action that selects, of each receiver, the ``clients`` of most ``worth``, at full CPU and power."""
    parent = env.simulation.topology.parents[0]
    chosen = group_rank(-torch.as_tensor(worth), parent) < clients
    action: Arrays = {"select": chosen.numpy().astype(np.int8), "steps": np.full(len(worth), steps, dtype=np.int64)}
    shares = {name: np.ones(len(worth)) for name in ("cpu", "power") if name in env.levers}
    return action | shares
