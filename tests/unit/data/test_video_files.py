"""Requests of video files: popularity, similarity and exploration against closed forms, samples, ceilings, refusals."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2
from support.laws import p_value as law_p_value
from support.laws import transition
from support.worlds import tiny

from fedradio.core.contracts import Tapes
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.fifo import fifo
from fedradio.data.requests import Floats, Requests, zipf_mandelbrot
from fedradio.data.video_features import Catalogue, draw_catalogue
from fedradio.data.video_files import draw_law, video_files
from fedradio.rounds.round import begin, run_round

SMALL: dict[str, Any] = {"genres": 3, "files_per_genre": 4, "requests": 30, "test_requests": 20}


SIGNIFICANCE = 1e-3
"""p values below this are failures; seeds are fixed."""


def world_of(
    clients: int, seed: int, *, genres: int = 5, files: int = 20, top_k: int = 1, gamma: float = 1.0, q: float = 0.0
) -> tuple[Catalogue, Requests]:
    """The world of ``video_files(clients, Rng(seed), ...)``."""
    catalogue = draw_catalogue(genres, files, Rng(seed))
    popularity = zipf_mandelbrot(files, gamma, q)
    return catalogue, draw_law(catalogue, clients, 0.3, (0.4, 0.9), top_k, popularity, Rng(seed))


def chains(tapes: Tapes, requests: int) -> Ints:
    """Every client's training requests ``[C, requests]``."""
    stored: torch.Tensor = tapes.fetch.request  # type: ignore[union-attr]
    return np.asarray(stored[: tapes.clients * requests].view(tapes.clients, requests).numpy())


def p_value(seen: Floats, expected: Floats) -> float:
    """Chi-square of counts; cells expected fewer than five times are one cell."""
    big = expected >= 5
    found, mean = [*seen[big], seen[~big].sum()], [*expected[big], expected[~big].sum()]
    cells = [(a, m) for a, m in zip(found, mean, strict=True) if m >= 5]
    assert len(cells) > 1
    return float(chi2.sf(sum((a - m) ** 2 / m for a, m in cells), len(cells) - 1))


def test_the_papers_numbers() -> None:
    tapes = video_files(7, Rng(0))
    assert (tapes.shape, tapes.classes, tapes.sample_bits) == ((3, 32, 33), 100, 101_376)
    assert tapes.offset.diff().tolist() == [3299] * 7
    assert torch.bincount(tapes.test.group).tolist() == [499] * 7
    assert tapes.test.per_client
    assert tapes.labelled.all()
    assert not set(tapes.index.tolist()) & set(tapes.test.index.tolist())
    x, y = tapes.fetch(tapes.index[:6].view(2, 3))
    assert x.shape == (2, 3, 3, 32, 33)
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
    assert y.equal(tapes.label[:6].view(2, 3))
    assert tapes.fetch(torch.zeros(0, 3, dtype=torch.long))[0].shape == (0, 3, 3, 32, 33)
    genre = chains(tapes, 3300)[0, 0] // 20
    assert (x[0, 0, :, :, 32].flatten()[25:95] == torch.tensor(genre / 5).float()).all()  # 70 times


def test_both_samples_are_of_the_same_requests() -> None:
    features, history = (video_files(4, Rng(1), **SMALL, sample=s, history=5) for s in ("features", "history"))
    assert chains(features, 30).tolist() == chains(history, 30).tolist()
    for a, b in ((features, history), (features.test, history.test)):
        x, y = a.fetch(a.index)[1].view(4, -1), b.fetch(b.index)[1].view(4, -1)
        assert x[:, 4:].equal(y)


def test_a_history_of_one_is_a_pair() -> None:
    features, history = (video_files(4, Rng(1), **SMALL, sample=s, history=1) for s in ("features", "history"))
    assert features.label.equal(history.label)
    assert dict(features.reference) == dict(history.reference)


def test_first_requests_are_popular_files_of_liked_genres() -> None:
    """20,000 clients of one taste: genre by preference, rank by Zipf-Mandelbrot (gamma 1.3, q 2)."""
    _, law = world_of(1, 3, genres=3, files=6, gamma=1.3, q=2.0)
    many = Requests(np.tile([0.5, 0.3, 0.2], (20_000, 1)), np.full(20_000, 0.5), law.near, law.entry)
    first = many.simulate(1, Rng(3))[:, 0]
    by_rank = np.array([(rank + 2.0) ** -1.3 for rank in range(1, 7)])
    by_rank /= by_rank.sum()
    assert np.sort(law.entry, axis=1)[:, ::-1] == pytest.approx(np.tile(by_rank, (3, 1)))
    for g, share in enumerate((0.5, 0.3, 0.2)):
        order = np.argsort(-law.entry[g])  # most popular first
        seen = np.bincount(first[first // 6 == g] % 6, minlength=6)[order].astype(float)
        assert p_value(seen, 20_000 * share * by_rank) > SIGNIFICANCE
        assert seen.sum() == pytest.approx(20_000 * share, abs=4 * math.sqrt(20_000 * share * (1 - share)))


def test_popularity_orders_are_random() -> None:
    """Which of four files is the most popular one of a genre: each as often as the others, in 400 worlds."""
    catalogue, zipf = draw_catalogue(3, 4, Rng(0)), zipf_mandelbrot(4, 1.0, 0.0)
    laws = [draw_law(catalogue, 1, 0.3, (0.4, 0.9), 1, zipf, Rng(seed)) for seed in range(400)]
    tops = [law.entry.argmax(axis=1) for law in laws]
    assert p_value(np.bincount(np.ravel(tops), minlength=4).astype(float), np.full(4, 300.0)) > SIGNIFICANCE


@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_transitions_follow_the_closed_forms(top_k: int) -> None:
    """20,000 requests of each of three clients: shares of staying, successors inside, genres and ranks outside."""
    catalogue, law = world_of(3, 9, genres=3, files=5, top_k=top_k)
    made = law.simulate(20_001, Rng(10))
    rank = np.argsort(np.argsort(-law.entry, axis=1), axis=1)  # [G, M], 0 the most popular
    zipf = (1 / np.arange(1, 6)) / sum(1 / r for r in range(1, 6))
    for client in range(3):
        before, after = made[client, :-1], made[client, 1:]
        g, h = before // 5, after // 5
        stays, p = (g == h), law.stay[client]
        assert stays.mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 20_000))
        for n in range(15):  # who follows inside
            kept = after[stays & (before == n)] % 5
            cosine = catalogue.cosine[n // 5, n % 5]
            others = sorted((j for j in range(5) if j != n % 5), key=lambda j: -cosine[j])[:top_k]
            assert set(kept) <= set(others)
            if top_k > 1 and len(kept) > 100:
                weight = np.exp(cosine[others])
                seen = np.array([(kept == j).sum() for j in others], dtype=float)
                assert p_value(seen, len(kept) * weight / weight.sum()) > SIGNIFICANCE
        for own in range(3):  # where to, outside
            away = after[~stays & (g == own)]
            law_of_genres = np.where(np.arange(3) == own, 0, law.preference[client])
            law_of_genres /= law_of_genres.sum()
            if len(away) > 100 and law_of_genres.max() < 0.99:
                seen = np.bincount(away // 5, minlength=3).astype(float)
                assert p_value(seen, len(away) * law_of_genres) > SIGNIFICANCE
        away = after[~stays]
        seen = np.bincount(rank[away // 5, away % 5], minlength=5).astype(float)
        assert p_value(seen, len(away) * zipf) > SIGNIFICANCE


@pytest.mark.parametrize("sample", ["features", "history"])
def test_the_ceiling_of_one_successor_is_the_mean_of_stay(sample: str) -> None:
    """Leaving reaches no file with more than .6 * .28 = .17, staying one with at least .4."""
    tapes = video_files(40, Rng(2), sample=sample, requests=12, test_requests=100)  # type: ignore[arg-type]
    _, law = world_of(40, 2)
    assert law.ceiling() == pytest.approx(np.repeat(law.stay[:, None], 100, axis=1))
    assert tapes.reference["bayes"] == pytest.approx(law.stay.mean())
    assert 0.4 < law.stay.min() < law.stay.max() < 0.9


@pytest.mark.parametrize(("sample", "window"), [("features", 1), ("history", 5)])
def test_the_ceiling_is_that_of_the_last_requests(sample: str, window: int) -> None:
    """Exact: the largest entry of the row of the transition law, request by request."""
    keywords: dict[str, Any] = SMALL | {"sample": sample, "history": 5, "top_k": 2, "stay": (0.0, 0.9)}
    tapes = video_files(4, Rng(8), **keywords)
    catalogue = draw_catalogue(3, 4, Rng(8))
    law = draw_law(catalogue, 4, 0.3, (0.0, 0.9), 2, zipf_mandelbrot(4, 1.0, 0.0), Rng(8))
    held = law.simulate(20, Rng(8).child("test"))
    best = [transition(law, client)[n].max() for client in range(4) for n in held[client, window - 1 : -1]]
    assert tapes.reference["bayes"] == pytest.approx(np.mean(best), rel=1e-12)


def test_two_successors_halve_it_as_in_the_paper() -> None:
    """Five worlds of 100 clients: the ceiling of K=2 over that of K=1 is .518 (.344 / .663) within .01."""
    ratios = []
    for seed in range(5):
        one, two = (
            video_files(100, Rng(seed), top_k=k, requests=2, test_requests=250).reference["bayes"] for k in (1, 2)
        )
        ratios.append(two / one)
    assert np.mean(ratios) == pytest.approx(0.518, abs=0.01)


@pytest.mark.parametrize("top_k", [1, 2])
def test_who_knows_the_law_reaches_the_ceiling(top_k: int) -> None:
    """30 clients with 499 test samples each: within four deviations of a mean of 14,970 hits (.017)."""
    tapes = video_files(30, Rng(1), requests=200, top_k=top_k)
    _, law = world_of(30, 1, top_k=top_k)
    before = law.simulate(500, Rng(1).child("test"))[:, :-1]
    best = np.stack([transition(law, client).argmax(axis=1) for client in range(30)])
    guess = np.take_along_axis(best, before, axis=1).ravel()
    y = tapes.test.fetch(tapes.test.index)[1]
    assert (guess == y.numpy()).mean() == pytest.approx(tapes.reference["bayes"], abs=0.017)
    counts = torch.bincount(tapes.label, minlength=100)
    assert tapes.reference["top_popular"] == float((y == counts.argmax()).double().mean())
    assert 0.01 < tapes.reference["top_popular"] < tapes.reference["bayes"]


def test_one_genre_only() -> None:
    tapes = video_files(4, Rng(0), **SMALL | {"genres": 1}, stay=(0.0, 0.0))
    made = chains(tapes, 30)
    assert made.max() < 4
    assert tapes.reference["bayes"] == pytest.approx(12 / 25)  # 1 / (1 + 1/2 + 1/3 + 1/4)


def test_fewer_requests_are_the_beginning_of_more() -> None:
    short, long = (video_files(5, Rng(2), **SMALL | {"requests": n}) for n in (30, 80))
    assert chains(short, 30).tolist() == chains(long, 80)[:, :30].tolist()
    assert short.test.fetch(short.test.index)[1].equal(long.test.fetch(long.test.index)[1])


def test_the_same_world_with_other_habits() -> None:
    one, again, other, elsewhere = (
        video_files(5, Rng(seed), **SMALL, top_k=k) for seed, k in ((1, 1), (1, 1), (1, 2), (2, 1))
    )
    table = [tapes.fetch.table for tapes in (one, again, other, elsewhere)]  # type: ignore[union-attr]
    assert table[0].equal(table[1])
    assert table[0].equal(table[2])
    assert not table[0].equal(table[3])
    assert one.label.equal(again.label)
    assert not one.label.equal(other.label)


@pytest.mark.parametrize(
    ("keywords", "path", "words"),
    [
        ({"top_k": 4}, "top_k", "a genre has 3 other files"),
        ({"top_k": 0}, "top_k", "use 1 to 3"),
        ({"stay": (0.9, 0.4)}, "stay", "lowest"),
        ({"stay": (-0.1, 0.4)}, "stay", "highest probability"),
        ({"stay": (0.4, 1.1)}, "stay", "highest probability"),
        ({"stay": (float("nan"), 0.5)}, "stay", "highest probability"),
        ({"zipf_q": -1.0}, "zipf_q", "above -1"),
        ({"zipf_q": float("nan")}, "zipf_q", "above -1"),
        ({"requests": 1}, "requests", "2 successive requests"),
        ({"test_requests": 1}, "test_requests", "2 successive requests"),
        ({"sample": "history", "requests": 10}, "requests", "11 successive requests"),
        ({"sample": "history", "test_requests": 9}, "test_requests", "11 successive requests"),
        ({"sample": "history", "history": 0}, "history", "needs a request"),
        ({"requests": 900_000}, "requests", "10,000,000"),
        ({"sample": "history", "requests": 30, "image_std": 0.5}, "image_std", "contains only file numbers"),
        ({"sample": "history", "requests": 30, "genre": "printed"}, "genre", "contains only file numbers"),
        ({"genres": 26, "images": "cifar100"}, "images", "104 files, but CIFAR-100 has only 100 labels"),
    ],
)
def test_refusals(keywords: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        video_files(50, Rng(0), **SMALL | keywords)
    assert [problem.path for problem in caught.value.problems] == [f"data.source.{path}"]
    assert words in str(caught.value)


def test_too_large_for_memory() -> None:
    with pytest.raises(SpecError, match="has 120,000,000 numbers"):
        video_files(6000, Rng(0), genres=100, files_per_genre=200, requests=2, test_requests=2)


def test_all_refusals_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        video_files(5, Rng(0), **SMALL | {"requests": 1}, top_k=9, stay=(0.5, 0.2), zipf_q=-3)
    assert len(caught.value.problems) == 4


def test_in_a_run() -> None:
    """Six clients with bounded buffers over few files: two rounds, and the references are reported."""
    source = partial(video_files, genres=2, files_per_genre=3, requests=60, test_requests=30)
    sim = tiny(source=source, stream=partial(fifo, capacity=(20, 30), slots=8))
    state = begin(sim)
    for _ in range(2):
        state, record, _ = run_round(sim, state)
    assert {"bayes", "top_popular", "accuracy"} <= set(record.metrics)
    with pytest.raises(SpecError, match=r"source\.top_k: a genre has 2 other files"):
        tiny(source=partial(video_files, files_per_genre=3, top_k=3))


def test_on_another_device() -> None:
    moved = video_files(2, Rng(0), **SMALL).to("meta")
    x, y = moved.fetch(torch.arange(3))
    assert x.device == y.device == moved.index.device == torch.device("meta")


@pytest.mark.parametrize("drift", [0.0, 1.0])
@pytest.mark.parametrize("sample", ["features", "history"])
def test_requests_have_the_law_that_the_tapes_tell(sample: Any, drift: float) -> None:
    """20,000 next requests: rows sum to 1, no p value below .001, and the ceiling is their mean maximum."""
    tapes = video_files(10, Rng(3), requests=2010, test_requests=300, sample=sample, top_k=2, drift=drift)
    assert tapes.law is not None
    for index, name in ((tapes.index, "tape"), (tapes.test.index, "test")):
        law, (_, label) = tapes.law(index).numpy(), tapes.fetch(index)
        assert law.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert law_p_value(law, label.numpy(), Rng(1).child(name)) > 1e-3
    assert tapes.reference["bayes"] == pytest.approx(float(tapes.law(tapes.test.index).max(dim=1).values.mean()))
    with pytest.raises(SpecError, match="ranks"):
        video_files(1, Rng(1), genres=100, files_per_genre=200, requests=10**5, drift=0.1)
