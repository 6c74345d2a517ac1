"""A simulation: the parts of an experiment, checked and ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import torch

from fedradio.core.contracts import (
    Algorithm,
    Backend,
    Hop,
    LocalRule,
    Model,
    Stream,
    Topology,
)
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.streams import Pooled
from fedradio.engine.backend import Engine
from fedradio.links.ideal import Ideal
from fedradio.policies.fixed import fixed
from fedradio.rounds.compatibility import objective_problems, problems_of, warnings_of

RoundClock = Literal["slowest", "deadline"]


@dataclass(frozen=True)
class Simulation:
    """A checked combination of parts; made by :func:`compose`. ``rule`` is already the algorithm's version of it.

    ``waits`` is how long receivers wait: for the slowest sender, or for the deadline. Accuracies are reported for the
    ``1..eval_top`` likeliest classes.
    """

    topology: Topology
    hops: tuple[Hop, ...]
    stream: Stream
    model: Model
    algorithm: Algorithm
    rule: LocalRule
    seed: int
    waits: RoundClock
    device: torch.device
    workers: int
    backend: Backend
    eval_top: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def rng(self) -> Rng:
        return Rng(self.seed)


def compose(
    *,
    topology: Topology,
    hops: Sequence[Hop],
    stream: Stream,
    model: Model,
    algorithm: Algorithm,
    rule: LocalRule,
    seed: int = 0,
    clock: RoundClock = "slowest",
    device: torch.device | str = "cpu",
    workers: int | None = None,
    eval_top: int = 1,
) -> Simulation:
    """Combine parts into a simulation; raises :class:`SpecError` with all problems if they do not fit."""
    engine = Engine(workers)
    simulation = Simulation(
        topology=topology,
        hops=tuple(hops),
        stream=stream,
        model=model,
        algorithm=algorithm,
        rule=rule,
        seed=seed,
        waits=clock,
        device=torch.device(device),
        workers=engine.workers,
        backend=engine,
        eval_top=eval_top,
    )
    if algorithm.pooling is not None:
        simulation = _pooled(simulation)
    problems = problems_of(simulation)
    try:
        simulation = replace(simulation, rule=algorithm.rule(rule))
        problems += objective_problems(simulation)
        simulation = replace(simulation, warnings=tuple(warnings_of(simulation)))
    except SpecError as error:
        problems += error.problems
    if problems:
        raise SpecError(problems)
    return simulation


def _pooled(simulation: Simulation) -> Simulation:
    """The same experiment as central training: one client with all data, no radio, no fleet."""
    pooling = simulation.algorithm.pooling
    assert pooling is not None
    node = torch.zeros(1, 2, dtype=torch.float64)
    return replace(
        simulation,
        topology=Topology((torch.zeros(1, dtype=torch.long),), (node, node)),
        hops=(Hop(Ideal(bits_per_value=None), fixed(steps=pooling.steps, epochs=pooling.epochs)),),
        stream=Pooled(simulation.stream, prod(hop.period for hop in simulation.hops)),
        waits="slowest",
    )
