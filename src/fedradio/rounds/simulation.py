"""A simulation: the parts of an experiment, checked and ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import nn

from fedradio.core.contracts import (
    Algorithm,
    Backend,
    Cache,
    Clock,
    Grouping,
    Hop,
    LocalRule,
    Message,
    Metric,
    Model,
    Pooling,
    Pools,
    Precision,
    Stream,
    Topology,
    Transform,
)
from fedradio.core.errors import Problem, SpecError
from fedradio.core.rng import Rng
from fedradio.data.streams import Pooled
from fedradio.engine.backend import Engine
from fedradio.links.ideal import Ideal
from fedradio.losses.squared_error import SquaredError
from fedradio.network.trace import Trace
from fedradio.policies.fixed import fixed
from fedradio.rounds.compatibility import loss_problems, problems_of, warnings_of
from fedradio.transforms.chain import messages

if TYPE_CHECKING:
    from fedradio.rounds.work import Clients

RoundClock = Literal["slowest", "deadline"]


GIVEN_VALUES = "values of the model"
"""Stands among a run's files for values that no spec tells: frozen parameters, and start values as they were given."""


class Learner(Protocol):
    """What local training needs: a :class:`Simulation` has it for all clients, a device of a federation for itself."""

    @property
    def model(self) -> Model: ...

    @property
    def algorithm(self) -> Algorithm: ...

    @property
    def rule(self) -> LocalRule: ...

    @property
    def stream(self) -> Stream: ...

    @property
    def rng(self) -> Rng: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def backend(self) -> Backend: ...

    @property
    def grouping(self) -> Grouping: ...

    @property
    def precision(self) -> Precision: ...

    @property
    def pooled(self) -> bool: ...

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """What clients do to their payloads."""
        ...

    def message(self, hop: int) -> Message: ...


@dataclass(frozen=True)
class Simulation:
    """A checked combination of parts; made by :func:`compose`. ``rule`` is already the algorithm's version of it.

    ``waits`` is how long receivers wait: for the slowest sender, or for the deadline. ``backend`` trains and evaluates,
    clients in groups by ``grouping``, forward pass and loss of training in ``precision``. Accuracies are reported for
    the ``1..eval_top`` likeliest classes; ``metrics`` judge predictions beside that. ``given_files``: the files that a
    spec names, with their checksums. ``cache``: what the receivers of hop 0 keep of the files that clients request.
    ``clients`` work somewhere else, as the devices of a federation do (None: they are simulated here).
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
    grouping: Grouping = "auto"
    metrics: tuple[Metric, ...] = ()
    warnings: tuple[str, ...] = ()
    given_files: Mapping[str, str] = field(default_factory=dict)
    cache: Cache | None = None
    clients: Clients | None = None
    precision: Precision = "float32"

    @property
    def rng(self) -> Rng:
        return Rng(self.seed)

    @property
    def pooled(self) -> bool:
        """Whether it is central training: all data in one place, without a network."""
        return isinstance(self.algorithm, Pools)

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """What clients do to their payloads."""
        return self.hops[0].transforms

    @property
    def edge_rounds(self) -> int:
        """Exchanges of hop 0 in a round."""
        return self.exchanges(0)

    def exchanges(self, hop: int) -> int:
        """Exchanges of a hop in a round."""
        return prod(one.period for one in self.hops[hop:])

    def clock(self, hop: int, t: int, e: int = 0, now_s: float | None = None) -> Clock:
        """The clock of exchange ``e`` of a hop in round ``t``."""
        return Clock(t, e, t * self.exchanges(hop) + e, now_s)

    @property
    def files(self) -> dict[str, str]:
        """Files that parts were made from, and their SHA-256; likewise values of the model that no spec tells."""
        traces = [hop.channel for hop in self.hops if isinstance(hop.channel, Trace)]
        given = getattr(self.model, "given_sha256", None)
        return (
            dict(self.given_files)
            | {trace.path: trace.sha256 for trace in traces}
            | ({GIVEN_VALUES: given} if given else {})
        )

    def message(self, hop: int) -> Message:
        """What a sender of a hop sends before any transform: its payload, or the changes of all shared vectors."""
        return self._payload if hop == 0 else self._relayed

    @cached_property
    def _payload(self) -> Message:
        return Message.of(self.algorithm.sends, self.model.shared.size)

    @cached_property
    def _relayed(self) -> Message:
        return Message(self.relayed, self.model.shared.size)

    def message_on_link(self, hop: int) -> Message:
        """What a sender of a hop puts on its link, after all transforms; where payloads are forwarded, a client's
        payload as the client coded it."""
        origin = 0 if self.topology.forwards else hop
        return messages(self.hops[origin].transforms, self.message(origin))[-1]

    @cached_property
    def relayed(self) -> int:
        """Shared vectors, which outer hops relay."""
        w = torch.empty(self.model.shared.size, device="meta")
        return len(self.algorithm.init(w, self.topology.clients, self.topology.receivers(0)).shared)


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
    backend: Backend | None = None,
    grouping: Grouping = "auto",
    metrics: Sequence[Metric] = (),
    files: Mapping[str, str] | None = None,
    cache: Cache | None = None,
    precision: Precision = "float32",
) -> Simulation:
    """Combine parts into a simulation; raises :class:`SpecError` with all problems if they do not fit.

    ``backend`` trains and evaluates (default: the engine with ``workers`` threads); with ``grouping`` "single" every
    client is trained alone; with ``precision`` "bf16" networks trained by autograd compute forward pass and loss in
    bfloat16. ``files``: those that parts were made from, with their SHA-256. ``cache``: caches at the
    receivers of hop 0, which serve the clients' requests and leave learning alone.
    """
    if not hops:
        raise SpecError(
            Problem("hops", "no hop is given", "give one entry per hop, such as hops=[Hop(ideal(), fixed())]")
        )
    if isinstance(model, nn.Module):
        remedy = "use wrap(module, stream.shape, stream.classes)"
        raise SpecError(Problem("model", "a torch module must be wrapped first", remedy, type(model).__name__))
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
        backend=engine if backend is None else backend,
        eval_top=eval_top,
        grouping=grouping,
        metrics=tuple(metrics),
        given_files=dict(files or {}),
        cache=cache,
        precision=precision,
    )
    if isinstance(algorithm, Pools):
        simulation = _pooled(simulation, algorithm.pooling)
    problems = problems_of(simulation)
    simulation = _with_server_rule(_timed(simulation))
    try:
        simulation = replace(simulation, rule=_with_loss(algorithm.rule(rule), simulation.stream))
        problems += loss_problems(simulation)
        unused = _unused(hops) if simulation.pooled else []
        simulation = replace(simulation, warnings=(*warnings_of(simulation), *unused))
    except SpecError as error:
        problems += error.problems
    if problems:
        raise SpecError(problems)
    return simulation


def _with_loss(rule: LocalRule, stream: Stream) -> LocalRule:
    """The rule with the squared error where values are predicted and neither spec nor algorithm names a loss."""
    return replace(rule, loss=SquaredError()) if rule.loss is None and stream.target == "value" else rule


def _with_server_rule(simulation: Simulation) -> Simulation:
    """The same with the optimiser that belongs to the algorithm at the receiver of the last hop."""
    rule = simulation.algorithm.server_rule
    if rule is None:
        return simulation
    *below, last = simulation.hops
    return replace(simulation, hops=(*below, replace(last, receiver=rule)))


def _timed(simulation: Simulation) -> Simulation:
    """The same with the seconds between the exchanges of traces that go by the clients' deadline."""
    deadline_s = simulation.hops[0].deadline_s
    hops = list(simulation.hops)
    for h, hop in enumerate(hops):
        if isinstance(hop.channel, Trace) and hop.channel.interval_s is None and deadline_s is not None:
            each = simulation.edge_rounds / simulation.exchanges(h)
            hops[h] = replace(hop, channel=hop.channel.every(each * deadline_s))
    return replace(simulation, hops=tuple(hops))


def _unused(hops: Sequence[Hop]) -> list[str]:
    """A warning about transforms, receiver rules and ways to gather that central training leaves out."""
    keys = [f"hops.{h}.{key}" for h, hop in enumerate(hops) for key in ("transforms", "receiver") if getattr(hop, key)]
    keys += [f"hops.{h}.gather" for h, hop in enumerate(hops) if hop.gather.carries]
    return [f"{', '.join(keys)}: not used, because central training has no network"] if keys else []


def _pooled(simulation: Simulation, pooling: Pooling) -> Simulation:
    """The same experiment as central training: one client with all data, no radio, no fleet."""
    node = torch.zeros(1, 2, dtype=torch.float64)
    return replace(
        simulation,
        topology=Topology((torch.zeros(1, dtype=torch.long),), (node, node)),
        hops=(Hop(Ideal(bits_per_value=None), fixed(steps=pooling.steps, epochs=pooling.epochs)),),
        stream=Pooled(simulation.stream, simulation.rng, simulation.edge_rounds),
        waits="slowest",
    )
