"""Requests for contents as a Markov chain per client, its exact transition law and the best accuracy it allows.

Contents are numbered genre by genre: content ``i`` of genre ``g`` is ``n = g*M + i`` of ``N = G*M``. Letters: ``C``
clients, ``G`` genres, ``M`` contents of a genre.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Requests:
    """How clients choose what they request next.

    The first request enters a genre by ``preference [C, G]``. From then on a client stays in its genre ``g`` with
    probability ``stay [C]`` and moves from content ``i`` to ``j`` of it by ``near [G, M, M]``; otherwise it enters
    another genre ``g'``. ``entry [G, M]`` is the law of the content with which a genre is entered::

        P(g', j | g, i) = stay * near[g, i, j] * [g' = g] + (1 - stay) * explore[g, g'] * entry[g', j]
        explore[g, g'] = preference[g'] / sum_{h != g} preference[h]   for g' != g,   0 for g' = g

    Who likes no other genre enters its own one again: ``explore[g, g] = 1`` where that sum is 0.
    """

    preference: Floats
    stay: Floats
    near: Floats
    entry: Floats

    @property
    def clients(self) -> int:
        return len(self.preference)

    @property
    def contents(self) -> int:
        """N."""
        return self.entry.size

    def explore(self) -> Floats:
        """Probability of the next genre for those who leave, ``[C, G, G]``: from, to."""
        own = np.eye(self.preference.shape[1])
        others = self.preference[:, None, :] * (1 - own)
        total = others.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore"):  # 0/0, where nobody reads the quotient
            return np.where(total > 0, others / total, own)

    def simulate(self, length: int, rng: Rng) -> Ints:
        """``length`` requests of every client, ``[C, length]``; fewer are always the beginning of more."""
        luck = rng.numpy().random((length, 3, self.clients))  # stay or leave, which genre, which content
        size = self.entry.shape[1]
        explore, near, entry = _cumulated(self.explore()), _cumulated(self.near), _cumulated(self.entry)
        near = near.reshape(self.contents, size)
        who = np.arange(self.clients)
        made = np.empty((length, self.clients), np.int64)
        genre = _pick(_cumulated(self.preference), luck[0, 1])
        now = made[0] = genre * size + _pick(entry[genre], luck[0, 2])
        for t in range(1, length):
            stays = luck[t, 0] < self.stay
            genre = now // size
            genre = np.where(stays, genre, _pick(explore[who, genre], luck[t, 1]))
            law = np.where(stays[:, None], near[now], entry[genre])  # [C, M]
            now = made[t] = genre * size + _pick(law, luck[t, 2])
        return np.ascontiguousarray(made.T)

    def transition(self, client: int) -> Floats:
        """The probabilities ``[N, N]`` of a client's next request (column) after each content (row)."""
        genres, size = self.entry.shape
        leave = (1 - self.stay[client]) * self.explore()[client]  # [G, G]
        law = leave[:, None, :, None] * self.entry  # [G, 1, G, M]
        law = np.repeat(law, size, axis=1)
        own = np.arange(genres)
        law[own, :, own] += self.stay[client] * self.near
        return law.reshape(self.contents, self.contents)

    def ceiling(self) -> Floats:
        """The highest probability of a next request, ``[C, N]``: the maxima of the rows of :meth:`transition`.

        Nobody who knows the client's law and its last request can be right more often than its mean.
        """
        genres, size = self.entry.shape
        leave = (1 - self.stay)[:, None, None] * self.explore()  # [C, G, G]
        away = leave * self.entry.max(axis=1)
        away[:, np.arange(genres), np.arange(genres)] = 0
        best = np.repeat(away.max(axis=2), size, axis=1)  # [C, N], outside the genre
        for n in range(self.contents):
            g, i = divmod(n, size)
            again = leave[:, g, g, None] * self.entry[g]  # [C, M], 0 but for those who like no other genre
            inside = (self.stay[:, None] * self.near[g, i] + again).max(axis=1)
            best[:, n] = np.maximum(best[:, n], inside)
        return best


def zipf_mandelbrot(size: int, gamma: float, q: float) -> Floats:
    """Popularity of the ranks ``1..size``: ``p(r) = (r + q)^-gamma / sum_s (s + q)^-gamma``, ``[size]``; q > -1.

    OSAFL's eq. (80) with its sum where it belongs. Relative to the first rank, so that no power over- or underflows.
    """
    rank = np.arange(1, size + 1)
    weight = np.exp(-gamma * (np.log(rank + q) - np.log(1 + q)))
    return np.asarray(weight / weight.sum())


def nearest(cosine: Floats, k: int) -> Floats:
    """Which content follows which inside a genre, ``[G, M, M]``: the softmax of the cosines on the k largest ones.

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


def _pick(cumulated: Floats, luck: Floats) -> Ints:
    """The outcome of each uniform ``luck [C]``, by running sums ``[C, K]``; one of probability 0 never comes up."""
    return np.asarray((luck[:, None] >= cumulated).sum(axis=1))
