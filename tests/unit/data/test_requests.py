"""The law of requests: popularity, successors, chains against a plain loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from support.examples import examples
from support.laws import p_value, transition

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, RequestLaw, Requests, drifting, nearest, ranks, zipf_mandelbrot
from fedradio.data.video import draw_world


def test_popularity_by_hand() -> None:
    assert zipf_mandelbrot(3, 1.0, 0.0).tolist() == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert zipf_mandelbrot(2, 2.0, 1.0).tolist() == pytest.approx([9 / 13, 4 / 13])  # 1/4 and 1/9
    assert zipf_mandelbrot(2, 1.0, -0.5).tolist() == pytest.approx([0.75, 0.25])  # 2 and 2/3
    assert zipf_mandelbrot(4, 0.0, 7.0).tolist() == pytest.approx([0.25] * 4)
    assert zipf_mandelbrot(3, 1e6, 1e9).sum() == pytest.approx(1)  # no power is 0 or infinite
    assert zipf_mandelbrot(3, 1e6, -0.5).tolist() == [1, 0, 0]


def test_who_follows_by_hand() -> None:
    cosine = np.array([[[1.0, 0.5, 0.2], [0.5, 1.0, -0.1], [0.2, -0.1, 1.0]]])
    assert nearest(cosine, 1)[0].tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    a, b, c = math.exp(0.5), math.exp(0.2), math.exp(-0.1)
    expected = [[0, a / (a + b), b / (a + b)], [a / (a + c), 0, c / (a + c)], [b / (b + c), c / (b + c), 0]]
    assert nearest(cosine, 2)[0].ravel().tolist() == pytest.approx(np.ravel(expected).tolist())


def soft_world(seed: int, clients: int = 4, genres: int = 3, contents: int = 4) -> Requests:
    """A general law: several near contents, entries by several contents, one client that likes a single genre."""
    draw = np.random.default_rng(seed)
    near = draw.dirichlet(np.ones(contents), size=(genres, contents)) * (1 - np.eye(contents))
    preference = draw.dirichlet(np.full(genres, 0.5), size=clients)
    preference[-1] = np.eye(genres)[0]
    stay = draw.random(clients)
    return Requests(preference, stay, near / near.sum(2, keepdims=True), draw.dirichlet(np.ones(contents), size=genres))


def plain_chain(world: Requests, client: int, luck: Floats) -> list[int]:
    """The oracle: one client, one request at a time; ``luck [length, 3]``."""
    size = world.entry.shape[1]

    def pick(law: Floats, u: float) -> int:
        return next(k for k in range(len(law)) if u < law[: k + 1].sum() / law.sum())

    genre = pick(world.preference[client], luck[0, 1])
    made = [genre * size + pick(world.entry[genre], luck[0, 2])]
    for stay, other, which in luck[1:]:
        genre, content = divmod(made[-1], size)
        if stay < world.stay[client]:
            made.append(genre * size + pick(world.near[genre, content], which))
            continue
        law = world.preference[client].copy()
        law[genre] = 0
        genre = pick(law, other) if law.sum() > 0 else genre
        made.append(genre * size + pick(world.entry[genre], which))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_simulation_equals_the_plain_loop(seed: int) -> None:
    world = soft_world(seed)
    made = world.simulate(60, Rng(seed))
    luck = Rng(seed).numpy().random((60, 3, world.clients))
    assert made.tolist() == [plain_chain(world, client, luck[:, :, client]) for client in range(world.clients)]


@examples(30)
@given(seed=st.integers(0, 10**6), genres=st.integers(1, 4), contents=st.integers(2, 5))
def test_laws(seed: int, genres: int, contents: int) -> None:
    """Rows are distributions, the ceiling is their maximum, and what has probability 0 never happens."""
    world = soft_world(seed, 3, genres, contents)
    made, ceiling = world.simulate(40, Rng(seed)), world.ceiling()
    assert ceiling.shape == (3, genres * contents)
    for client in range(3):
        law = transition(world, client)
        assert law.min() >= 0
        assert law.sum(axis=1) == pytest.approx(1)
        assert ceiling[client] == pytest.approx(law.max(axis=1))
        assert (law[made[client, :-1], made[client, 1:]] > 0).all()


def chi_square(world: Requests, made: Ints, client: int) -> float:
    """p value of a chain's transitions; cells expected fewer than five times are one cell of their row."""
    law = transition(world, client)
    seen = np.zeros_like(law)
    np.add.at(seen, (made[client, :-1], made[client, 1:]), 1)
    expected = law * seen.sum(axis=1, keepdims=True)
    statistic, freedom = 0.0, 0
    for row, mean in zip(seen, expected, strict=True):
        big = mean >= 5
        cells = [*zip(row[big], mean[big], strict=True)]
        if mean[~big].sum() >= 5:
            cells.append((row[~big].sum(), mean[~big].sum()))
        statistic += sum((found - m) ** 2 / m for found, m in cells)
        freedom += max(len(cells) - 1, 0)
    assert freedom > 0
    return float(chi2.sf(statistic, freedom))


def test_frequencies_follow_the_law() -> None:
    """Chi-square of 20,000 transitions of each of six clients, videos and a general law: no p value below .001."""
    lawful, _ = draw_world(6, 8, 32, 16, 0.3, (0.1, 0.8), Rng(5))
    for world in (lawful, soft_world(5, clients=6)):
        made = world.simulate(20_001, Rng(6))
        assert min(chi_square(world, made, client) for client in range(6)) > 1e-3


@examples(20)
@given(seed=st.integers(0, 10**6), genres=st.integers(1, 4), contents=st.integers(2, 5))
def test_rows_are_those_of_the_transition_matrices(seed: int, genres: int, contents: int) -> None:
    world = soft_world(seed, 3, genres, contents)
    client, last = np.divmod(np.arange(3 * world.contents), world.contents)
    rows = world.rows(client, last)
    assert rows == pytest.approx(np.concatenate([transition(world, c) for c in range(3)]), abs=1e-15)
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert world.highest(client, last, np.zeros_like(last)) == pytest.approx(world.ceiling().ravel())


def test_ranks_and_drift_by_hand() -> None:
    """Three contents in the order 2, 0, 1: a swap of the first pair makes it 0, 2, 1."""
    rank = ranks(np.array([[0.5, 0.1, 0.9]]))
    assert rank.tolist() == [[1, 2, 0]]
    law = np.array([0.6, 0.3, 0.1])
    assert drifting(rank, law, 0.0, 50, Rng(1)) is None
    drift = drifting(rank, law, 1.0, 50, Rng(1))
    assert drift is not None
    assert drift.rank[0].tolist() == [[1, 2, 0]]
    for before, after in zip(drift.rank[:-1, 0], drift.rank[1:, 0], strict=True):
        moved = np.flatnonzero(before != after)
        assert len(moved) == 2
        assert abs(int(before[moved[0]]) - int(before[moved[1]])) == 1
        assert sorted(after[moved]) == sorted(before[moved])
    swapped = int(np.flatnonzero(drift.rank[1, 0] == 0)[0]) != 2
    assert drift.entry(np.array([0, 1]))[:, 0].tolist() == [
        [0.3, 0.1, 0.6],
        [0.6, 0.1, 0.3] if swapped else [0.1, 0.3, 0.6],
    ]
    assert drift.entry(np.array([10**6])).tolist() == drift.entry(np.array([49])).tolist()  # nothing changes any more


def test_a_swap_comes_as_often_as_asked_and_more_slots_begin_alike() -> None:
    rank = ranks(Rng(0).numpy().random((5, 8)))
    drift, longer = (drifting(rank, np.ones(8) / 8, 0.3, slots, Rng(2)) for slots in (2000, 3000))
    assert drift is not None
    assert longer is not None
    assert (longer.rank[:2000] == drift.rank).all()
    share = (drift.rank[1:] != drift.rank[:-1]).any(axis=2).mean()  # of 9995 chances
    assert share == pytest.approx(0.3, abs=3 * math.sqrt(0.21 / 9995))


def test_drifting_requests_follow_the_law_of_their_slot_and_no_other() -> None:
    """3000 clients at three times: p above .001 by the law of the slot, below 1e-6 by that of slot 0 at the end."""
    world = soft_world(3, clients=3000, contents=8)
    rank = ranks(Rng(3).numpy().random((3, 8)))
    law = zipf_mandelbrot(8, 1.5, 0.0)
    world = replace(world, entry=law[rank], drift=drifting(rank, law, 1.0, 80, Rng(4)), stay=world.stay / 4)
    made = world.simulate(80, Rng(5))
    client = np.arange(3000)
    for slot in (1, 40, 79):
        rows = world.rows(client, made[:, slot - 1], np.full(3000, slot))
        assert rows.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert p_value(rows, made[:, slot], Rng(slot)) > 1e-3
    assert p_value(world.rows(client, made[:, 78]), made[:, 79], Rng(6)) < 1e-6


def test_the_law_of_samples_finds_client_last_request_and_slot() -> None:
    world = soft_world(1)
    law = np.array([0.5, 0.25, 0.15, 0.1])
    rank = ranks(Rng(3).numpy().random((3, 4)))
    world = replace(world, entry=law[rank], drift=drifting(rank, law, 1.0, 9, Rng(4)))
    tape, test = world.simulate(9, Rng(1)), world.simulate(5, Rng(2))
    request = torch.from_numpy(np.concatenate([tape.ravel(), test.ravel()]))
    for ahead in (0, 2):
        found = RequestLaw(world, request, (9, 5), ahead)(torch.tensor([2 * 9 + 3, 4 * 9 + 5 * 1 + 1]))
        places = (
            np.array([2, 1]),
            np.array([tape[2, 3 + ahead], test[1, 1 + ahead]]),
            np.array([4 + ahead, 2 + ahead]),
        )
        assert found.numpy() == pytest.approx(world.rows(*places))
