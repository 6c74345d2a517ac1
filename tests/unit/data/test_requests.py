"""The law of requests: popularity, successors, chains against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, Requests, nearest, zipf_mandelbrot
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


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), genres=st.integers(1, 4), contents=st.integers(2, 5))
def test_laws(seed: int, genres: int, contents: int) -> None:
    """Rows are distributions, the ceiling is their maximum, and what has probability 0 never happens."""
    world = soft_world(seed, 3, genres, contents)
    made, ceiling = world.simulate(40, Rng(seed)), world.ceiling()
    assert ceiling.shape == (3, genres * contents)
    for client in range(3):
        law = world.transition(client)
        assert law.min() >= 0
        assert law.sum(axis=1) == pytest.approx(1)
        assert ceiling[client] == pytest.approx(law.max(axis=1))
        assert (law[made[client, :-1], made[client, 1:]] > 0).all()


def chi_square(world: Requests, made: Ints, client: int) -> float:
    """p value of a chain's transitions; cells expected fewer than five times are one cell of their row."""
    law = world.transition(client)
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
