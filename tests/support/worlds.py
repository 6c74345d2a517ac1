"""Small simulations from parts alone, without any spec: six clients that learn digits in a blink.

A keyword replaces one part. What is drawn at random comes as a factory, which gets the generator that a spec would give
it: ``tiny(topology=partial(hierarchical, edges=1, clients_per_edge=6))``, ``cells(fleet=partial(cellular, ...))``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor

from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import (
    Algorithm,
    Backend,
    Cache,
    Channel,
    Fleet,
    Grouping,
    Hop,
    Late,
    Link,
    LocalRule,
    Metric,
    Model,
    Policy,
    Precision,
    Samples,
    SimState,
    Stream,
    Tapes,
    Topology,
)
from fedradio.core.rng import Rng
from fedradio.data.growing import growing
from fedradio.data.partition import iid
from fedradio.data.sources import digits
from fedradio.data.streams import static
from fedradio.data.tapes import make_tapes
from fedradio.data.video import videos
from fedradio.engine.rules import sgd
from fedradio.fleet.profile import cellular
from fedradio.links.ideal import ideal
from fedradio.models.zoo import mlp
from fedradio.network.topology import flat, hierarchical
from fedradio.policies.fixed import fixed
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import RoundClock, Simulation, compose

SEED = 3

Fleets = Callable[[int, Rng], Fleet]

SIX = partial(flat, clients=6)
TWO_CELLS = partial(hierarchical, edges=2, clients_per_edge=3)
SMALL_MODEL = partial(mlp, hidden=(16,))


def tiny(
    *,
    link: Link | None = None,
    policy: Policy | None = None,
    channel: Channel | None = None,
    fleet: Fleets | None = None,
    period: int = 1,
    deadline_s: float | None = None,
    late: Late = "stop",
    topology: Callable[[Rng], Topology] = SIX,
    **world: Any,
) -> Simulation:
    """Six clients below a server, three steps each a round; ``world`` as of :func:`simulate`."""
    hop = Hop(link or ideal(), policy or fixed(steps=3), channel, period=period, deadline_s=deadline_s, late=late)
    return simulate(topology, [(hop, fleet)], **world)


def cells(
    *,
    link: Link | None = None,
    policy: Policy | None = None,
    channel: Channel | None = None,
    fleet: Fleets | None = cellular,
    period: int = 2,
    deadline_s: float | None = None,
    late: Late = "stop",
    above: Hop | None = None,
    fleet_above: Fleets | None = None,
    topology: Callable[[Rng], Topology] = TWO_CELLS,
    **world: Any,
) -> Simulation:
    """The same clients in two cells with two edge rounds a round, and devices that take time and energy.

    The first keywords are those of the clients' hop; ``above`` is the hop from the edges to the server.
    """
    hop = Hop(link or ideal(), policy or fixed(steps=3), channel, period=period, deadline_s=deadline_s, late=late)
    return simulate(topology, [(hop, fleet), (above or Hop(ideal(), fixed()), fleet_above)], **world)


def simulate(
    topology: Callable[[Rng], Topology],
    hops: Sequence[tuple[Hop, Fleets | None]],
    *,
    source: Callable[[int, Rng], Samples | Tapes] = digits,
    partition: Callable[[Tensor, int, Tensor, Rng], list[Tensor]] = iid,
    stream: Callable[[Tapes, Rng], Stream] = static,
    model: Callable[[tuple[int, ...], int], Model] = SMALL_MODEL,
    algorithm: Algorithm | None = None,
    rule: LocalRule | None = None,
    seed: int = SEED,
    clock: RoundClock = "slowest",
    eval_top: int = 1,
    workers: int | None = None,
    backend: Backend | None = None,
    grouping: Grouping = "auto",
    metrics: Sequence[Metric] = (),
    cache: Cache | None = None,
    precision: Precision = "float32",
    **labels: Any,
) -> Simulation:
    """Parts drawn from the world of ``seed``, each by the name of its own; ``labels`` as of ``make_tapes``."""
    world = Rng(seed).child("world")
    place = topology(world.child("topology"))
    found = source(place.clients, world.child("source"))
    if isinstance(found, Samples):
        shares = partition(found.y, found.classes, place.cells, world.child("partition"))
        found = make_tapes(found, shares, world.child("tapes"), **labels)
    flow = stream(found, world.child("stream"))
    return compose(
        topology=place,
        hops=[
            hop if fleet is None else replace(hop, fleet=fleet(place.senders(h), world.child("fleet", h)))
            for h, (hop, fleet) in enumerate(hops)
        ],
        stream=flow,
        model=model(flow.shape, flow.classes),
        algorithm=algorithm or fedavg(),
        rule=rule or sgd(lr=0.1, batch=16),
        seed=seed,
        clock=clock,
        eval_top=eval_top,
        workers=workers,
        backend=backend,
        grouping=grouping,
        metrics=metrics,
        cache=cache,
        precision=precision,
    )


def requesting(*, contents: int = 4, slots: int = 2, entry: Any = "zipf", **world: Any) -> Simulation:
    """The two cells with clients that request videos of three genres, in so many slots an edge round."""
    source = partial(videos, genres=3, contents_per_genre=contents, requests=200, test_requests=20, entry=entry)
    world = {"source": source, "stream": partial(growing, history=20, slots=slots), **world}
    return cells(**world)


def after(sim: Simulation, rounds: int = 2) -> SimState:
    """The state after so many rounds."""
    state = begin(sim)
    for _ in range(rounds):
        state, _, _ = run_round(sim, state, evaluate=False)
    return state
