"""Traffic analysis: how many requests an observer can still identify by tags in the clear and by sizes of payloads.

The base station of one cell of a spec's world observes. It knows statistics of 5000 past requests per user.

Run: python examples/private_requests/traffic.py --worlds 3 --draws 8 (half a minute; needs no cryptography)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from matching import (
    Floats,
    Ints,
    Statistics,
    constant_guess_share,
    identified_share,
    match_ranks,
    match_sequences,
    statistics,
    tag_requests,
)

from fedradio import Spec, load_spec
from fedradio.core.contracts import Topology
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import part
from fedradio.core.rng import Rng

PAST, WARM = 5000, 50
"""Past requests per user that the observer knows; requests before them, which follow another distribution."""

EPOCHS = (6, 24, 96, 384, 1536, 6144)
"""Requests of the cell in an epoch."""

MEGABYTES = (5.0, 50.0)
"""Smallest and largest file."""

CELL = 0
"""The cell whose base station observes."""


@dataclass(frozen=True)
class RequestWorld:
    """The requests in the world of a spec, or in that of another seed."""

    spec: Spec
    seed: int

    def __post_init__(self) -> None:
        source = self.spec.plain["data"]["source"]
        if not {"requests", "test_requests"} <= source.keys():
            remedy = "use a spec with videos or video_files, such as rawhfl"
            raise SpecError(Problem("data.source", "this source has no requests", remedy, source["kind"]))

    @property
    def cells(self) -> Ints:
        """The cell of every client ``[C]``."""
        topology = make_part("topology", self.spec.plain["topology"], Rng(self.seed).child("world", "topology"))
        return np.asarray(cast(Topology, topology).cells.numpy())

    def requests(self, seed: int, length: int) -> tuple[Ints, int]:
        """The first requests ``[C, length]`` of all clients in the run of ``seed``, and the number of contents."""
        source = self.spec.plain["data"]["source"]
        source = source | {"requests": length + source.get("history", 1)}
        rng, clients = Rng(self.seed, run_seed=seed).child("world", "source"), len(self.cells)
        tapes = make_part("source", source, clients, rng)
        return np.asarray(tapes.label.numpy().reshape(clients, -1)[:, :length]), int(tapes.classes)


def make_part(family: str, plain: dict[str, Any], *context: Any) -> Any:
    """A part from its keywords in a spec."""
    keywords = {
        key: tuple(value) if isinstance(value, list) else value for key, value in plain.items() if key != "kind"
    }
    return part(family, plain["kind"]).factory(*context, **keywords)


def past_statistics(world: RequestWorld) -> dict[str, Statistics]:
    """Statistics of all clients and of those of the cell, from a run of its own."""
    past, _ = world.requests(Rng(world.seed).child("attack", "past").key(), WARM + PAST)
    return {"global": statistics(list(past[:, WARM:])), "cell": statistics(list(past[world.cells == CELL, WARM:]))}


# -- tags in the clear --

GUESS = "best constant guess"
OBSERVERS = {
    "rank matching, global popularity known": ("global", "ranks"),
    "sequences, global distribution known": ("global", "sequences"),
    "rank matching, the cell's popularity known": ("cell", "ranks"),
    "sequences, the cell's distribution known": ("cell", "sequences"),
}
"""What the observer knows and does."""


def draw_epoch(chains: Ints, size: int, rng: Rng) -> list[Ints]:
    """``size`` successive requests of a cell, each by a random user: the start of each user's chain ``[U, L]``."""
    counts = rng.numpy().multinomial(size, np.full(len(chains), 1 / len(chains)))
    return [chain[:count] for chain, count in zip(chains, counts.tolist(), strict=True)]


def observe_tags(world: RequestWorld, epochs: Sequence[int], draws: int) -> Iterator[tuple[str, int, float]]:
    """Observer, requests of the epoch, and the share of them that the observer identifies, for every draw."""
    rng, known = Rng(world.seed).child("attack"), past_statistics(world)
    members = world.cells == CELL
    for draw in range(draws):
        length = WARM + 2 * max(epochs) // int(members.sum()) + 100  # more than any user requests
        chains = world.requests(rng.child("epoch", draw).key(), length)[0][members, WARM:]
        for size in epochs:
            here = rng.child("epoch", draw, size)
            requests = draw_epoch(chains, size, here)
            tags, truth = tag_requests(requests, here.child("tags"))
            yield GUESS, size, constant_guess_share(requests, known["cell"])
            for observer, (scope, method) in OBSERVERS.items():
                if method == "ranks":
                    guess = match_ranks(tags, known[scope])
                else:
                    guess = match_sequences(tags, known[scope], here.child(scope))
                yield observer, size, identified_share(tags, guess, truth)


def tag_shares(spec: Spec, epochs: Sequence[int], worlds: int, draws: int) -> dict[tuple[str, int], float]:
    """Mean shares over worlds (the spec's own, then those of the following seeds) and draws of epochs."""
    found: dict[tuple[str, int], list[float]] = {}
    for number in range(worlds):
        for observer, size, share in observe_tags(RequestWorld(spec, spec.world_seed + number), epochs, draws):
            found.setdefault((observer, size), []).append(share)
    return {key: float(np.mean(shares)) for key, shares in found.items()}


# -- sizes of payloads --

Padding = Literal["none", "padme", "power_of_two", "largest"]
PADDINGS: tuple[Padding, ...] = get_args(Padding)


def padme(size: int) -> int:
    """``size`` rounded up so that its ``E - S`` low bits are 0, with ``E = floor(log2 L)``, ``S = floor(log2 E) + 1``.

    At most 12 % more (Nikitin et al., "Reducing metadata leakage from encrypted files and communication with PURBs",
    2019). By hand: ``padme(9)`` is 10, since E = 3, S = 2 and one low bit is cleared.
    """
    if size < 2:
        return size
    exponent = size.bit_length() - 1
    low = max(exponent - exponent.bit_length(), 0)
    return -(-size >> low) << low


def padded_size(size: int, padding: Padding, largest: int) -> int:
    """Octets that are sent for a file of ``size`` octets, with a mark of one octet that ends the file."""
    if padding == "none":
        return size
    if padding == "padme":
        return padme(size + 1)
    return 1 << size.bit_length() if padding == "power_of_two" else largest + 1


def draw_sizes(contents: int, low: float, high: float, rng: Rng) -> Ints:
    """Sizes of files in octets, log-uniform from ``low`` to ``high``."""
    return np.rint(low * (high / low) ** rng.numpy().random(contents)).astype(np.int64)


def size_share(sizes: Sequence[int], popularity: Floats, padding: Padding) -> tuple[float, float]:
    """Share of the requests that sizes identify under a padding, and the extra octets relative to no padding.

    An observer who knows all sizes ``[N]`` takes a payload for the most popular content of its size, which is right
    for ``sum_s max_{n: size n = s} p_n`` of the requests. By hand: sizes 5, 5 and 7 with popularity .5, .3 and .2
    give .5 + .2 = .7; padded to one size .5.
    """
    sent = [padded_size(size, padding, max(sizes)) for size in sizes]
    best: dict[int, float] = {}
    for size, p in zip(sent, popularity.tolist(), strict=True):
        best[size] = max(best.get(size, 0.0), p)
    return sum(best.values()), float(popularity @ np.array(sent)) / float(popularity @ np.array(sizes)) - 1


def size_shares(world: RequestWorld) -> dict[Padding, tuple[float, float]]:
    """Identified shares and extra octets in the observed cell under every padding."""
    known, (_, contents) = past_statistics(world)["cell"], world.requests(world.spec.seed, 1)
    popularity = np.zeros(contents)
    popularity[known.content] = known.count / known.count.sum()
    low, high = (1e6 * size for size in MEGABYTES)
    sizes = draw_sizes(contents, low, high, Rng(world.seed).child("protocol", "sizes")).tolist()
    return {padding: size_share(sizes, popularity, padding) for padding in PADDINGS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="?", default="rawhfl", help="a spec whose data source has requests")
    parser.add_argument("--worlds", type=int, default=1, help="number of worlds, starting from the spec's seed")
    parser.add_argument("--draws", type=int, default=2, help="number of epochs per world")
    options = parser.parse_args()
    spec = load_spec(options.spec)
    print("share of requests identified by tags in the clear, by requests of the cell in an epoch")
    shares = tag_shares(spec, EPOCHS, options.worlds, options.draws)
    print(f"{'':44}{''.join(f'{size:>6}' for size in EPOCHS)}")
    for observer in (GUESS, *OBSERVERS):
        print(f"{observer:44}{''.join(f'{shares[observer, size]:6.2f}' for size in EPOCHS)}")
    low, high = MEGABYTES
    print(f"\nshare of requests identified by sizes, files of {low:g} to {high:g} MB")
    for padding, (share, extra) in size_shares(RequestWorld(spec, spec.world_seed)).items():
        print(f"{padding:14}{share:7.1%}   {extra:6.1%} extra octets")


if __name__ == "__main__":
    main()
