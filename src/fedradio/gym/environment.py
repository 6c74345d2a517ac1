"""The environment: one step is one edge round, in which an agent stands in for the policy of hop 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import ExchangeRecord, RoundRecord, Slots
from fedradio.core.contracts.records import MAIN_SCORES, main_score
from fedradio.core.errors import DivergenceError, Problem, SpecError
from fedradio.engine.threads import one_torch_thread
from fedradio.gym.spaces import (
    Arrays,
    action_of,
    action_space,
    allocation_of,
    most_steps,
    observation_of,
    observation_space,
)
from fedradio.rounds.parts import of_hop, recall
from fedradio.rounds.planning import Observation, broadcast, decide, observe
from fedradio.rounds.round import (
    Round,
    begin,
    carry_out,
    close_round,
    exchange,
    next_clock,
    open_round,
    order,
)
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

MOST_SEED = 2**31
"""Seeds of episodes that are not given are drawn below this."""


@dataclass(frozen=True)
class Step:
    """What a reward is made of: the record of the edge round, and of the round if it was its last one.

    ``gain`` is the change of the test accuracy (of minus the RMSE, where values are predicted), 0 where there was no
    evaluation; the first one counts from 0.
    """

    exchange: ExchangeRecord
    round: RoundRecord | None
    gain: float

    @property
    def joules(self) -> float:
        """Joules of the clients in this edge round; 0 where no part defines them."""
        return sum(self.exchange.joules or ())


def accuracy_gain(step: Step) -> float:
    """The change of the test accuracy: the return of an episode is the accuracy at its end."""
    return step.gain


def _score(metrics: Mapping[str, float]) -> float:
    """The main score of an evaluation, larger where predictions are better: the accuracy, or minus the RMSE."""
    name = main_score(metrics)
    return metrics[name] if MAIN_SCORES[name] else -metrics[name]


class PolicyEnv(gymnasium.Env[Arrays, Arrays]):
    """The world of a spec, in which an agent decides who takes part, after how many steps, at which power.

    An episode is a run of the spec: ``spec.rounds`` rounds, with the seed given to ``reset`` in place of the spec's. It
    ends earlier if the run diverges; the accuracy gained so far is then taken back. Everything else in the world
    (channel, data, learning, outer hops) is as in a run, and the same for every agent.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it
    simulation: Simulation
    levers: frozenset[str]
    _round: Round
    _order: Iterator[int]
    _seen: Observation
    _age: NDArray[np.int64]
    _expert: tuple[Arrays, Slots] | None

    def __init__(
        self, spec: Spec, reward: Callable[[Step], float], max_steps: int | None = None, workers: int | None = None
    ) -> None:
        self._run_spec, self._reward, self._workers = spec, reward, workers
        if max_steps is not None and max_steps < 1:
            raise SpecError(
                Problem("max_steps", "an action allots at least one local step", "use 1 or more", max_steps)
            )
        self._begin(spec.seed)
        view = self._seen.view
        self.max_steps = most_steps(self.simulation.hops[0].policy, view) if max_steps is None else max_steps
        self.observation_space = observation_space(self._observation())
        self.action_space = levers = action_space(view, self.max_steps)
        self.levers = frozenset(levers.spaces)
        self._ended = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Arrays, dict[str, Any]]:
        """Begin a run with this seed; without one with a seed that follows from those before, at first the spec's."""
        if seed is None and self._np_random is None:
            seed = self._run_spec.seed
        super().reset(seed=seed)
        self._begin(int(self.np_random.integers(MOST_SEED)) if seed is None else seed)
        return self._observation(), {"seed": self.simulation.seed, "round": 0}

    def step(self, action: Arrays) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        """Carry out an edge round, and all exchanges of outer hops that follow it."""
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset()")
        now, seen = self._round, self._seen
        memory = recall(now.state.parts, of_hop(0, "policy")) if self._expert is None else self._expert[1]
        try:
            with one_torch_thread():
                now = carry_out(self.simulation, now, seen, allocation_of(action, seen.view), memory)
                record, accuracy = self._advance(now)
        except DivergenceError:
            self._ended = True
            return self._observation(), -self._accuracy, True, False, {"diverged": True}
        done = [each for each in now.records if each.hop == 0][-1]
        arrived = np.zeros(seen.view.senders, dtype=np.bool_)
        arrived[done.ids] = done.arrived
        self._age = np.where(arrived, 0, self._age + 1)
        gain = 0.0 if accuracy is None else accuracy - self._accuracy
        self._accuracy += gain
        made = Step(done, record, gain)
        info = {"round": self._round.state.t, "arrived": arrived, "joules": made.joules, "accuracy": self._accuracy}
        return self._observation(), float(self._reward(made)), self._ended, False, info

    def expert_action(self) -> Arrays:
        """What the spec's own policy would do now, such as the exact planner ``joint``.

        Its memory goes on with each edge round in which it is asked.
        """
        if self._expert is None:
            alloc, memory = decide(self.simulation, self._round.state, self._seen)
            self._expert = action_of(alloc, self._seen.view, self.max_steps), memory
        return self._expert[0]

    def _begin(self, seed: int) -> None:
        spec = Spec(dict(self._run_spec.plain) | {"seed": seed})
        self.simulation = build(spec, workers=self._workers)
        self._accuracy, self._ended = 0.0, False
        self._age = np.zeros(self.simulation.topology.clients, dtype=np.int64)
        self._open(open_round(self.simulation, begin(self.simulation)))

    def _open(self, now: Round) -> None:
        """Begin a round: its first exchange is one of hop 0."""
        self._round = now
        self._order = order(self.simulation)
        self._look()

    def _look(self) -> bool:
        """Go on to the next exchange of hop 0 and see it; False if the round has no further one."""
        now, sim = self._round, self.simulation
        for h in self._order:
            if h == 0:
                seen, state = observe(sim, now.state, now.tiers, 0, next_clock(sim, now, 0))
                self._seen = broadcast(seen)
                self._round, self._expert = replace(now, state=state), None
                return True
            now = exchange(sim, now, h)
        self._round = now
        return False

    def _advance(self, now: Round) -> tuple[RoundRecord | None, float | None]:
        """Go on to the next decision; the record of the round and its accuracy, if it has ended."""
        self._round = now
        if self._look():
            return None, None
        now = self._round
        done = now.state.t + 1
        last = done == self._run_spec.rounds
        state, record, _ = close_round(self.simulation, now, last or done % self._run_spec.eval_every == 0)
        accuracy = None if record.evaluation is None else _score(record.evaluation.metrics)
        if last:
            self._ended = True
        else:
            self._open(open_round(self.simulation, state))
        return record, accuracy

    def _observation(self) -> Arrays:
        return observation_of(self._seen.view, self._age)
