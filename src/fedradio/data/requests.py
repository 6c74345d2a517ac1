"""Markov chain of a client's content requests: simulation, exact transition law, and Bayes accuracy.

Contents are numbered genre by genre: content ``i`` of genre ``g`` is ``n = g*M + i`` of ``N = G*M``. Letters: ``C``
clients, ``G`` genres, ``M`` contents of a genre.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints

Floats = NDArray[np.float64]

MOST_ROWS = 4096
"""Rows of the law that are held at once while their largest probabilities are looked for."""


@dataclass(frozen=True)
class Drift:
    """Popularity orders that change with time: ``rank [T, G, M]`` of every content in every slot, 0 the most popular,
    and the law ``popularity [M]`` of ranks, by which genres are entered. Behind the last slot nothing changes."""

    rank: NDArray[np.int16]
    popularity: Floats

    def entry(self, slot: Ints) -> Floats:
        """Law of the content with which a genre is entered in slots ``[n]``, ``[n, G, M]``."""
        return self.popularity[self.rank[np.minimum(slot, len(self.rank) - 1)]]


@dataclass(frozen=True)
class Requests:
    """Markov chains of the clients' requests.

    The first request enters a genre by ``preference [C, G]``. From then on a client stays in its genre ``g`` with
    probability ``stay [C]`` and moves from content ``i`` to ``j`` of it by ``near [G, M, M]``; otherwise it enters
    another genre ``g'``. ``entry [G, M]`` is the law of the content with which a genre is entered::

        P(g', j | g, i) = stay * near[g, i, j] * [g' = g] + (1 - stay) * explore[g, g'] * entry[g', j]
        explore[g, g'] = preference[g'] / sum_{h != g} preference[h]   for g' != g,   0 for g' = g

    A client that likes no other genre enters its own one again: ``explore[g, g] = 1`` where that sum is 0.

    With ``drift`` genres are entered by the popularity order of the slot, and ``entry`` is the law of slot 0. A slot is
    a place in a client's sequence of requests: its first request falls in slot 0.
    """

    preference: Floats
    stay: Floats
    near: Floats
    entry: Floats
    drift: Drift | None = None

    @property
    def clients(self) -> int:
        return len(self.preference)

    @property
    def contents(self) -> int:
        """Number of contents ``N``."""
        return self.entry.size

    def explore(self) -> Floats:
        """Probability of the next genre for a client that leaves its own, ``[C, G, G]``: from, to."""
        own = np.eye(self.preference.shape[1])
        others = self.preference[:, None, :] * (1 - own)
        total = others.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore"):  # 0/0, where the quotient is not used
            return np.where(total > 0, others / total, own)

    @cached_property
    def _explore(self) -> Floats:
        return self.explore()

    def entries(self, slot: Ints) -> Floats:
        """Law of the content with which genres are entered in slots ``[n]``; ``[n, G, M]``, or ``[1, G, M]`` where it
        is always the same."""
        return self.entry[None] if self.drift is None else self.drift.entry(slot)

    def simulate(self, length: int, rng: Rng) -> Ints:
        """Simulated requests of every client, ``[C, length]``; a shorter chain is a prefix of a longer one."""
        uniform = rng.numpy().random((length, 3, self.clients))  # stay or leave, which genre, which content
        size = self.entry.shape[1]
        explore, near, entry = _cumulated(self.explore()), _cumulated(self.near), _cumulated(self.entry)
        near = near.reshape(self.contents, size)
        client = np.arange(self.clients)
        request = np.empty((length, self.clients), np.int64)
        genre = _pick(_cumulated(self.preference), uniform[0, 1])
        last = request[0] = genre * size + _pick(entry[genre], uniform[0, 2])
        for t in range(1, length):
            if self.drift is not None:
                entry = _cumulated(self.drift.entry(np.array([t]))[0])
            stays = uniform[t, 0] < self.stay
            genre = last // size
            genre = np.where(stays, genre, _pick(explore[client, genre], uniform[t, 1]))
            law = np.where(stays[:, None], near[last], entry[genre])  # [C, M]
            last = request[t] = genre * size + _pick(law, uniform[t, 2])
        return np.ascontiguousarray(request.T)

    def rows(self, client: Ints, last: Ints, slot: Ints | None = None) -> Floats:
        """Law of the next request, ``[n, N]``, of clients ``[n]`` whose last request was ``last [n]``: the rows of
        the clients' transition matrices, without these. ``slot [n]`` is that of the next request (default: slot 0)."""
        genres, size = self.entry.shape
        own, content = np.divmod(last, size)
        entry = self.entries(np.zeros(1, np.int64) if slot is None else slot)
        leave = (1 - self.stay[client])[:, None] * self._explore[client, own]  # [n, G]
        law = leave[:, :, None] * entry  # [n, G, M]
        law[np.arange(len(client)), own] += self.stay[client][:, None] * self.near[own, content]
        return law.reshape(len(client), genres * size)

    def highest(self, client: Ints, last: Ints, slot: Ints) -> Floats:
        """Highest probability of the next request, ``[n]``: the maxima of :meth:`rows`."""
        cuts = range(MOST_ROWS, len(client), MOST_ROWS)
        pieces = zip(*(np.split(each, cuts) for each in (client, last, slot)), strict=True)
        return np.concatenate([self.rows(*piece).max(axis=1) for piece in pieces])

    def ceiling(self) -> Floats:
        """Highest probability of a next request, ``[C, N]``: the maxima of the rows of the transition matrices.

        Its mean over the last requests is the Bayes accuracy: no predictor that knows the client's law and its last
        request is right more often.
        """
        genres, size = self.entry.shape
        leave = (1 - self.stay)[:, None, None] * self.explore()  # [C, G, G]
        away = leave * self.entry.max(axis=1)
        away[:, np.arange(genres), np.arange(genres)] = 0
        best = np.repeat(away.max(axis=2), size, axis=1)  # [C, N], outside the genre
        for n in range(self.contents):
            g, i = divmod(n, size)
            back = leave[:, g, g, None] * self.entry[g]  # [C, M], 0 but for clients that like no other genre
            inside = (self.stay[:, None] * self.near[g, i] + back).max(axis=1)
            best[:, n] = np.maximum(best[:, n], inside)
        return best


@dataclass(frozen=True)
class RequestLaw:
    """True law of the next requests by sample number: a :data:`~fedradio.core.contracts.Law`.

    ``request [n]`` are the requests of all clients (or ``client * N`` more), first ``lengths[0]`` of every client on
    the tapes, then ``lengths[1]`` of every client for tests. The last request that sample ``i`` knows is number ``i +
    ahead``.
    """

    world: Requests
    request: Tensor
    lengths: tuple[int, int]
    ahead: int = 0

    def __call__(self, index: Tensor) -> Tensor:
        """Sample numbers ``[n]`` to the probabilities ``[n, N]`` of their labels given their features, float64."""
        return torch.from_numpy(self.world.rows(*self._places(index)))

    def highest(self, index: Tensor) -> Floats:
        """Highest probability of a label of each of the samples ``[n]``."""
        return self.world.highest(*self._places(index))

    def _places(self, index: Tensor) -> tuple[Ints, Ints, Ints]:
        """Client, last request and the slot of the next one, ``[n]`` each."""
        at: Ints = index.cpu().numpy() + self.ahead
        tapes = self.world.clients * self.lengths[0]
        tested = at >= tapes
        client, place = np.divmod(np.where(tested, at - tapes, at), np.where(tested, *self.lengths[::-1]))
        return client, self.request.numpy()[at] % self.world.contents, place + 1


def ranks(keys: Floats) -> Ints:
    """Rank of every key along the last axis, 0 the largest."""
    return np.argsort(np.argsort(-keys, axis=-1, kind="stable"), axis=-1, kind="stable")


def drifting(rank: Ints, popularity: Floats, p: float, slots: int, rng: Rng) -> Drift | None:
    """Popularity orders of so many slots from ``rank [G, M]`` in slot 0: before every other slot each genre, with
    probability ``p``, swaps two neighbouring ranks, drawn uniformly. None for ``p = 0``.

    More slots have the same orders in the first ones.
    """
    if p == 0:
        return None
    genres, contents = rank.shape
    uniform = rng.numpy().random((slots, 2, genres))  # swap or not, which pair
    upper = (uniform[:, 1] * (contents - 1)).astype(np.int64)  # [T, G]
    order = np.argsort(rank, axis=1)  # [G, M], the content of every rank
    drifted = np.empty((slots, genres, contents), np.int16)
    drifted[0] = rank
    for t in range(1, slots):
        drifted[t] = drifted[t - 1]
        for g in np.flatnonzero(uniform[t, 0] < p):
            r = upper[t, g]
            first, second = order[g, r], order[g, r + 1]
            order[g, r], order[g, r + 1] = second, first
            drifted[t, g, first], drifted[t, g, second] = r + 1, r
    return Drift(drifted, popularity)


def zipf_mandelbrot(size: int, gamma: float, q: float) -> Floats:
    """Zipf-Mandelbrot law ``p(r) = (r + q)^-gamma / sum_s (s + q)^-gamma`` of ranks ``1..size``; ``[size]``, q > -1.

    OSAFL's eq. (80) with its sum where it belongs. Relative to the first rank, so that no power over- or underflows.
    """
    rank = np.arange(1, size + 1)
    weight = np.exp(-gamma * (np.log(rank + q) - np.log(1 + q)))
    return np.asarray(weight / weight.sum())


def nearest(cosine: Floats, k: int) -> Floats:
    """Transition law by similarity inside a genre, ``[G, M, M]``: the softmax of the k largest cosines.

    OSAFL's eq. (82), renormalised on the top k (algorithm 5). No content follows itself; k is at most M - 1.
    """
    others = np.where(np.eye(cosine.shape[1], dtype=bool), -np.inf, cosine)
    top = np.argsort(-others, axis=2, kind="stable")[:, :, :k]
    law = np.zeros_like(cosine)
    np.put_along_axis(law, top, np.exp(np.take_along_axis(others, top, axis=2)), axis=2)
    return np.asarray(law / law.sum(axis=2, keepdims=True))


def _cumulated(law: Floats) -> Floats:
    """Running sums of probabilities along the last axis, ending in exactly 1."""
    sums = np.cumsum(law, axis=-1)
    return np.asarray(sums / sums[..., -1:])


def _pick(cumulated: Floats, uniform: Floats) -> Ints:
    """Outcome of each ``uniform [C]`` draw by running sums ``[C, K]``; one of probability 0 never occurs."""
    return np.asarray((uniform[:, None] >= cumulated).sum(axis=1))
