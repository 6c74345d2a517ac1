"""Video requests by similarity (RawHFL): contents with features in genres, clients with genre preferences.

A sample is two numbers, a client's last request and its next one; features are gathered from a table with a row for
every client and content.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Tapes, TestSet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, RequestLaw, Requests, drifting, ranks, zipf_mandelbrot

MAX_VALUES = 250_000_000
"""Most numbers in the table of features: 1 GB."""

MAX_REQUESTS = 10_000_000
"""Most requests of all clients, training and test together: 240 MB of random numbers while they are drawn."""

MAX_RANKS = 100_000_000
"""Most ranks of all slots of a drifting popularity: 200 MB."""

Range = tuple[float, float]
Entry = Literal["favourite", "zipf"]


@register("source", "videos", paper="RawHFL, sections II-B and V-A")
def videos(
    clients: int,
    rng: Rng,
    /,
    *,
    genres: Annotated[int, Arg("genres", ge=1, le=100)] = 8,
    contents_per_genre: Annotated[int, Arg("contents per genre", ge=2, le=200)] = 32,
    content_features: Annotated[
        int, Arg("random features per content, from which similarities are computed", ge=1, le=1000)
    ] = 16,
    preference: Annotated[float, Arg("Dirichlet concentration of a client's genre preferences", ge=1e-3, le=1e6)] = 0.3,
    preferences: Annotated[
        tuple[float, ...] | None,
        Arg("genre preferences of every client, one share per genre, instead of random ones", ge=0, le=1),
    ] = None,
    similarity: Annotated[
        float | Range, Arg("probability v that the next request is the most similar content, or its range", ge=0, le=1)
    ] = (0.1, 0.8),
    requests: Annotated[int, Arg("samples per client, past and future together", ge=1, le=10**6)] = 600,
    test_requests: Annotated[int, Arg("held-out samples per client", ge=1, le=10**6)] = 1000,
    entry: Annotated[
        Entry, Arg("first content of a new genre: its most popular one, or any, in proportion to popularity")
    ] = "favourite",
    zipf_gamma: Annotated[float, Arg("skewness of the popularity (Zipf) if entry is zipf", ge=0, le=1e6)] = 1.0,
    drift: Annotated[
        float,
        Arg("probability that two neighbouring popularity ranks of a genre are swapped before a slot", ge=0, le=1),
    ] = 0.0,
) -> Tapes:
    """Next-request prediction for a video service: 43 features, 256 contents, one test group per client.

    A client's first request is the most popular content of a genre drawn from its preferences. After that, with
    probability ``v`` it requests the most similar other content of the same genre; otherwise it moves to another genre,
    drawn in proportion to its preferences, and requests the most popular content there. A client that likes no other
    genre returns to the most popular content of its own. Preferences are Dirichlet; ``v`` is uniform in a range or the
    same for all clients; similarities are cosines of standard normal features; the most popular content of a genre is
    drawn too.

    The features of a request are ``v`` (1), the preferences (``genres``), ``g/genres`` (1), the similarities to all
    contents of its genre, itself included (``contents_per_genre``), and ``i/contents_per_genre`` (1) for content ``i``
    of genre ``g``; the label is the next request ``g*contents_per_genre + i``. Each feature has 32 bits.

    ``bayes`` is the best expected accuracy on the test samples, the mean of
    ``max(v, (1-v) * max_{h != g} p_h / (1 - p_g))``; ``top_popular`` is that of always predicting the content
    that is requested most often on all tapes together.

    With ``entry: zipf`` a client enters a genre at the content of popularity rank ``r`` with probability proportional
    to ``r^-zipf_gamma``; with ``favourite`` only the favourites and the few that follow them are ever requested. With
    ``drift`` the popularity changes from slot to slot, where a slot is a position on the tapes: a client that makes
    twice as many requests sees twice as many changes. Test requests go through the same slots, and ``bayes`` is the
    mean of the best accuracies in their slots.
    """
    v = (similarity, similarity) if isinstance(similarity, int | float) else similarity
    slots = max(requests, test_requests) + 1
    _check(clients, genres, contents_per_genre, preferences, v, requests + test_requests)
    check_drift(drift, slots * genres * contents_per_genre)
    taste = preference if preferences is None else preferences
    world, cosine = draw_world(clients, genres, contents_per_genre, content_features, taste, v, rng)
    world = _with_popularity(world, entry, zipf_gamma, drift, slots, rng)
    run = rng.of_run()
    train, test = world.simulate(requests + 1, run.child("tape")), world.simulate(test_requests + 1, run.child("test"))
    return _tapes(world, _features(world, cosine), train, test)


def draw_world(
    clients: int, genres: int, contents: int, features: int, taste: float | tuple[float, ...], v: Range, rng: Rng
) -> tuple[Requests, Floats]:
    """Random law of the requests, and the cosine similarities ``[G, M, M]`` inside the genres.

    ``taste`` is the Dirichlet concentration of the preferences, or the preferences ``[G]`` of all clients.
    """
    cosine = _cosines(genres, contents, features, rng.child("features"))
    popular = rng.child("popularity").numpy().random((genres, contents)).argmax(axis=1)  # [G]
    if isinstance(taste, tuple):
        preference = np.tile(np.array(taste) / math.fsum(taste), (clients, 1))
    else:
        preference = rng.child("preferences").numpy().dirichlet(np.full(genres, taste), size=clients)
    stay = v[0] + (v[1] - v[0]) * rng.child("similarity").numpy().random(clients)
    certain = np.eye(contents)
    return Requests(preference, stay, near=certain[_most_similar(cosine)], entry=certain[popular]), cosine


def _with_popularity(world: Requests, entry: Entry, gamma: float, drift: float, slots: int, rng: Rng) -> Requests:
    """The world with genres entered by this popularity, which drifts."""
    if entry == "favourite" and drift == 0:
        return world
    genres, contents = world.entry.shape
    rank = ranks(rng.child("popularity").numpy().random((genres, contents)))
    popularity = zipf_mandelbrot(contents, gamma, 0.0) if entry == "zipf" else np.eye(contents)[0]
    drifted = drifting(rank, popularity, drift, slots, rng.child("drift"))
    return replace(world, entry=popularity[rank], drift=drifted)


@dataclass(frozen=True)
class Pairs:
    """A :data:`Fetch` of features from a table: sample ``i`` is ``table[row[i]]`` with ``label[i]``."""

    table: Tensor
    row: Tensor
    label: Tensor

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Sample numbers of any shape to ``(x [*index, features], y [*index])``."""
        flat = index.flatten()
        x = self.table.index_select(0, self.row.index_select(0, flat)).view(*index.shape, self.table.shape[1])
        return x, self.labels(index)

    def key(self, index: Tensor) -> Tensor:
        """Row of the table: samples of equal row are equal."""
        return self.row.index_select(0, index.flatten()).view(index.shape)

    def labels(self, index: Tensor) -> Tensor:
        return self.label.index_select(0, index.flatten()).view(index.shape)


def _cosines(genres: int, contents: int, features: int, rng: Rng) -> Floats:
    """Cosine similarities inside the genres, ``[G, M, M]``."""
    vectors = rng.numpy().standard_normal((genres, contents, features))
    unit = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    return np.asarray(np.clip(unit @ unit.transpose(0, 2, 1), -1, 1))


def _most_similar(cosine: Floats) -> Ints:
    """The most similar other content of the genre, ``[G, M]``; the first of equals."""
    return np.asarray(np.where(np.eye(cosine.shape[1], dtype=bool), -np.inf, cosine).argmax(axis=2))


def _features(world: Requests, cosine: Floats) -> Tensor:
    """Table of features with a row for every client and content, ``[C*N, 1 + G + 1 + M + 1]`` float32."""
    genres, size = world.entry.shape
    of_client = np.column_stack([world.stay, world.preference])  # [C, 1 + G]
    number = np.arange(world.contents)
    of_content = np.column_stack(
        [number // size / genres, cosine.reshape(world.contents, size), number % size / size]
    )  # [N, 1 + M + 1]
    table = np.empty((world.clients, world.contents, of_client.shape[1] + of_content.shape[1]), np.float32)
    table[:, :, : of_client.shape[1]] = of_client[:, None]
    table[:, :, of_client.shape[1] :] = of_content
    return torch.from_numpy(table.reshape(-1, table.shape[2]))


def _tapes(world: Requests, table: Tensor, train: Ints, test: Ints) -> Tapes:
    """Pairs of successive requests, of ``train [C, requests + 1]`` on the tapes and of ``test`` for evaluation."""
    first = np.arange(world.clients)[:, None] * world.contents  # row of a client's content 0
    row = np.concatenate([(first + chain[:, :-1]).ravel() for chain in (train, test)])
    label = np.concatenate([chain[:, 1:].ravel() for chain in (train, test)])
    pairs = Pairs(table, torch.from_numpy(row), torch.from_numpy(label))
    trained = world.clients * (train.shape[1] - 1)
    number, client = torch.arange(len(label)), torch.arange(world.clients)
    test_set = TestSet(number[trained:], client.repeat_interleave(test.shape[1] - 1), world.clients, True, pairs)
    favourite = np.bincount(label[:trained]).argmax()
    law = RequestLaw(world, pairs.row, (train.shape[1] - 1, test.shape[1] - 1))
    best = world.ceiling().ravel()[row[trained:]] if world.drift is None else law.highest(number[trained:])
    return Tapes(
        index=number[:trained],
        offset=torch.arange(world.clients + 1) * (train.shape[1] - 1),
        label=pairs.label[:trained],
        labelled=torch.ones(trained, dtype=torch.bool),
        fetch=pairs,
        test=test_set,
        shape=(table.shape[1],),
        classes=world.contents,
        sample_bits=32.0 * table.shape[1],
        reference={
            "bayes": float(best.mean()),
            "top_popular": float((label[trained:] == favourite).mean()),
        },
        law=law,
    )


def _check(
    clients: int, genres: int, contents: int, preferences: tuple[float, ...] | None, v: Range, requests: int
) -> None:
    problems = []
    if not 0 <= v[0] <= v[1] <= 1:
        reason = "must be a probability, or the lowest and highest one"
        problems.append(Problem("data.source.similarity", reason, "such as 0.3 or [0.1, 0.8]", v))
    if preferences is not None:
        problems += _check_preferences(preferences, genres)
    if clients * requests > MAX_REQUESTS:
        reason = f"{clients} clients with {requests} requests each exceed {MAX_REQUESTS:,} in total"
        problems.append(Problem("data.source.requests", reason, "use fewer requests, test_requests or clients"))
    if (values := clients * genres * contents * (genres + contents + 3)) > MAX_VALUES:
        reason = (
            f"{clients} clients and {genres * contents} contents have {values:,} features, more than {MAX_VALUES:,}"
        )
        problems.append(
            Problem("data.source.contents_per_genre", reason, "use fewer contents, genres or clients", contents)
        )
    if problems:
        raise SpecError(problems)


def check_drift(drift: float, ranks: int) -> None:
    """Refuse a drift whose ``ranks`` of all slots would fill the memory."""
    if drift > 0 and ranks > MAX_RANKS:
        reason = f"the popularity of all slots has {ranks:,} ranks, more than {MAX_RANKS:,}"
        raise SpecError(Problem("data.source.drift", reason, "use fewer requests, test_requests or contents", drift))


def _check_preferences(preferences: tuple[float, ...], genres: int) -> list[Problem]:
    path = "data.source.preferences"
    if len(preferences) != genres:
        return [
            Problem(path, f"{len(preferences)} shares for {genres} genres", "give one share per genre", preferences)
        ]
    if min(preferences) < 0:
        return [Problem(path, "a share is negative", "use shares from 0 to 1", preferences)]
    if not math.isclose(math.fsum(preferences), 1, abs_tol=1e-6):
        reason = f"the shares sum to {math.fsum(preferences):g}"
        return [Problem(path, reason, "use shares that sum to 1", preferences)]
    return []
