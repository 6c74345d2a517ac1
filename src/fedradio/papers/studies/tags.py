"""Requests of a spec's world, and how many of them a base station can name by their tags (RawHFL, Fig. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedradio.core.contracts import Topology
from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress, silent
from fedradio.core.registry import part
from fedradio.core.rng import Rng
from fedradio.privacy.attack import (
    Ints,
    Knowledge,
    best_guess,
    hidden,
    learn,
    named,
    rank_matching,
    sequences,
)
from fedradio.privacy.leaks import SizeLeak, drawn_sizes, size_leak
from fedradio.privacy.padding import PADDINGS
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import Plain

PAST = 5000
"""Past requests of every user that the attacker has learned the law from."""

WARM = 50
"""Requests of every user before those that are looked at: the first ones follow another law."""

SIZES = (6, 24, 96, 384, 1536, 6144)
"""Requests of a cell in an epoch."""

TYPICAL = (5.0, 50.0)
"""Megabytes of the files where what sizes tell is measured and the sizes are not given."""

CELL = 0
"""The cell whose base station attacks."""


@dataclass(frozen=True)
class RequestWorld:
    """Requests in the world of a spec: the cell of every client, the contents, and sequences of requests."""

    spec: Spec
    seed: int
    cell: tuple[int, ...]
    contents: int

    @classmethod
    def of(cls, spec: Spec, seed: int | None = None) -> RequestWorld:
        """The world of a spec, or that of another seed; refused where the source has no requests."""
        source = spec.plain["data"]["source"]
        if not {"requests", "test_requests"} <= source.keys():
            remedy = "use a spec with videos or video_files, such as rawhfl"
            raise SpecError(Problem("data.source", "this source has no requests", remedy, source["kind"]))
        own = spec.world_seed if seed is None else seed
        topology = _made("topology", spec.plain["topology"], Rng(own).child("world", "topology"))
        assert isinstance(topology, Topology)
        world = cls(spec, own, tuple(topology.cells.tolist()), 0)
        return replace(world, contents=int(world._tapes(spec.seed, None).classes))

    def requests(self, seed: int, length: int | None = None) -> Ints:
        """Requests ``[C, length]`` of all clients in the run of that seed; by default as many as the spec has."""
        tapes = self._tapes(seed, length)
        return np.asarray(tapes.label.numpy().reshape(len(self.cell), -1)[:, :length])

    def members(self, cell: int) -> list[int]:
        return [client for client, where in enumerate(self.cell) if where == cell]

    def _tapes(self, seed: int, length: int | None) -> Any:
        source = self.spec.plain["data"]["source"]
        given = source if length is None else source | {"requests": length + source.get("history", 1)}
        rng = Rng(self.seed, run_seed=seed).child("world", "source")
        return _made("source", given, len(self.cell), rng)


@dataclass(frozen=True)
class Named:
    """Mean share of the requests of an epoch that an attack names."""

    attack: str
    requests: int
    share: float


GUESS = "best constant guess"
ATTACKS = {
    "rank matching, global popularity known": ("global", rank_matching),
    "sequences, global law known": ("global", sequences),
    "rank matching, the cell's popularity known": ("cell", rank_matching),
    "sequences, the cell's law known": ("cell", sequences),
}
"""What the attacker does and knows."""


def tag_attacks(
    spec: Spec, sizes: Sequence[int], worlds: int = 1, draws: int = 2, progress: Progress = silent
) -> list[Named]:
    """Shares of requests that are named by tags in the clear, means over worlds and draws of epochs.

    The first world is the spec's, the others have the seeds after it.
    """
    rows: dict[tuple[str, int], list[float]] = {}
    total = worlds * draws * len(sizes)
    for number, (attack, size, share) in enumerate(_attempts(spec, sizes, worlds, draws)):
        rows.setdefault((attack, size), []).append(share)
        done = (number + 1) / (total * (len(ATTACKS) + 1))
        progress(f"attacks on tags, epoch of {size} requests", done)
    return [Named(attack, size, float(np.mean(shares))) for (attack, size), shares in rows.items()]


def _attempts(spec: Spec, sizes: Sequence[int], worlds: int, draws: int) -> Iterator[tuple[str, int, float]]:
    for number in range(worlds):
        world = RequestWorld.of(spec, spec.world_seed + number)
        rng = Rng(world.seed).child("attack")
        known = _knowledge(world, rng)
        for draw in range(draws):
            chains = world.requests(rng.child("epoch", draw).key(), _length(world, max(sizes)))[world.members(CELL)]
            for size in sizes:
                here = rng.child("epoch", draw, size)
                asked = drawn_epoch(chains[:, WARM:], size, here)
                tags, truth = hidden(asked, here.child("tags"))
                yield GUESS, size, best_guess(asked, known["cell"])
                for attack, (knows, match) in ATTACKS.items():
                    if match is sequences:
                        guess = sequences(tags, known[knows], here.child(knows))
                    else:
                        guess = rank_matching(tags, known[knows])
                    yield attack, size, named(tags, guess, truth)


def _knowledge(world: RequestWorld, rng: Rng) -> dict[str, Knowledge]:
    """What is known of all clients and of those of the cell, from a run of its own."""
    past = world.requests(rng.child("past").key(), WARM + PAST)[:, WARM:]
    return {"global": learn(list(past)), "cell": learn(list(past[world.members(CELL)]))}


def file_sizes(world: RequestWorld, megabytes: tuple[float, float]) -> tuple[int, ...]:
    """Octets of every file, log-uniform in a range of megabytes."""
    low, high = (1e6 * size for size in megabytes)
    return drawn_sizes(world.contents, low, high, Rng(world.seed).child("protocol", "sizes"))


def size_leaks(world: RequestWorld, megabytes: tuple[float, float]) -> tuple[SizeLeak, ...]:
    """What sizes tell the base station of the attacked cell, under every padding."""
    known = _knowledge(world, Rng(world.seed).child("attack"))["cell"]
    share = np.zeros(world.contents)
    share[known.content] = known.count / known.count.sum()
    sizes = file_sizes(world, megabytes)
    return tuple(size_leak(sizes, share, padding) for padding in PADDINGS)


def drawn_epoch(chains: Ints, size: int, rng: Rng) -> list[Ints]:
    """``size`` successive requests of a cell, each by a user drawn at random: the start of their ``chains [U, L]``."""
    many = rng.numpy().multinomial(size, np.full(len(chains), 1 / len(chains)))
    return [chain[:count] for chain, count in zip(chains, many.tolist(), strict=True)]


def _length(world: RequestWorld, most: int) -> int:
    """Requests of every user that an epoch of ``most`` certainly finds: twice the mean and some."""
    return WARM + 2 * most // len(world.members(CELL)) + 100


def _made(family: str, plain: Plain, *context: Any) -> Any:
    keywords = {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items() if key != "kind"}
    return part(family, plain["kind"]).factory(*context, **keywords)
