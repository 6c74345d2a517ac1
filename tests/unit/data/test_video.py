"""Video requests: the law against a plain loop and against frequencies, features, ceilings, refusals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from support.laws import p_value, transition

from fedradio.core.contracts import Tapes
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.video import draw_world, videos
from fedradio.models import mlp

SMALL: dict[str, Any] = {"genres": 3, "contents_per_genre": 4, "requests": 30, "test_requests": 20}


def chains(tapes: Tapes) -> list[Ints]:
    """Every client's requests: what came before its first sample, then its labels."""
    row = tapes.fetch.row.numpy()  # type: ignore[union-attr]
    n, found = tapes.classes, []
    for a, b in zip(tapes.offset[:-1].tolist(), tapes.offset[1:].tolist(), strict=True):
        assert (row[a:b] // n == row[a] // n).all()
        assert (row[a + 1 : b] % n == tapes.label[a : b - 1].numpy()).all()  # the label is the next sample's content
        found.append(np.concatenate([[row[a] % n], tapes.label[a:b].numpy()]))
    return found


def test_the_papers_numbers() -> None:
    tapes = videos(48, Rng(0))
    assert (tapes.shape, tapes.classes, tapes.sample_bits) == ((43,), 256, 43 * 32)
    assert tapes.offset.diff().tolist() == [600] * 48
    assert tapes.labelled.all()
    assert tapes.test.per_client
    assert torch.bincount(tapes.test.group).tolist() == [1000] * 48
    assert not set(tapes.index.tolist()) & set(tapes.test.index.tolist())
    assert mlp(tapes.shape, tapes.classes, hidden=(512, 256)).shared.size == 219_648
    x, y = tapes.fetch(tapes.index[:6].view(2, 3))
    assert x.shape == (2, 3, 43)
    assert x.dtype == torch.float32
    assert y.equal(tapes.label[:6].view(2, 3))
    assert tapes.fetch(torch.zeros(0, 3, dtype=torch.long))[0].shape == (0, 3, 43)


def test_features_and_labels_by_hand() -> None:
    tapes = videos(5, Rng(4), **SMALL, similarity=(0.2, 0.6), content_features=5)
    world, cosine = draw_world(5, 3, 4, 5, 0.3, (0.2, 0.6), Rng(4))
    for client, chain in enumerate(chains(tapes)):
        for k in (0, 7, 29):
            g, i = divmod(int(chain[k]), 4)
            expected = [world.stay[client], *world.preference[client], g / 3, *cosine[g, i], i / 4]
            x, y = tapes.fetch(tapes.index[tapes.offset[client] + k])
            assert x.tolist() == pytest.approx(expected, abs=1e-6)
            assert int(y) == chain[k + 1]
            assert x[5 + i] == pytest.approx(1)  # similar to itself


def test_ceilings_of_the_three_settings() -> None:
    """Ten worlds of 48 clients: .41, .70, .52 within .02 (the paper's central training: .395, .701, .518)."""
    tolerance = 0.02
    settings_: list[tuple[float | tuple[float, float], float]] = [(0.3, 0.41), (0.7, 0.70), ((0.1, 0.8), 0.52)]
    for similarity, expected in settings_:
        found = [
            videos(48, Rng(seed), similarity=similarity, requests=1, test_requests=300).reference["bayes"]
            for seed in range(10)
        ]
        assert np.mean(found) == pytest.approx(expected, abs=tolerance)


def test_ceilings_differ_between_clients_as_in_the_paper() -> None:
    """v = .3: the deviation over clients is that of the paper's central training, .0856, within .01."""
    spread = []
    for seed in range(10):
        world, _ = draw_world(48, 8, 32, 16, 0.3, (0.3, 0.3), Rng(seed))
        before = world.simulate(300, Rng(seed).child("test"))
        spread.append(np.take_along_axis(world.ceiling(), before, axis=1).mean(axis=1).std())
    assert np.mean(spread) == pytest.approx(0.0856, abs=0.01)


def test_who_knows_the_law_reaches_the_ceiling_and_nobody_else() -> None:
    """12 clients with 1000 requests each: within four deviations of a mean of 12,000 hits (.018)."""
    tapes = videos(12, Rng(1))
    world, _ = draw_world(12, 8, 32, 16, 0.3, (0.1, 0.8), Rng(1))
    row, y = tapes.fetch.row[tapes.test.index], tapes.test.fetch(tapes.test.index)[1]  # type: ignore[union-attr]
    best = np.stack([transition(world, client).argmax(axis=1) for client in range(12)]).ravel()
    hits = best[row.numpy()] == y.numpy()
    assert hits.mean() == pytest.approx(tapes.reference["bayes"], abs=0.018)
    counts = torch.bincount(tapes.label, minlength=256)
    popular = float((y == counts.argmax()).double().mean())
    assert tapes.reference["top_popular"] == popular
    assert 0.02 < popular < tapes.reference["bayes"]


def test_no_similarity_and_nothing_else() -> None:
    restless = chains(videos(6, Rng(0), **SMALL, similarity=0.0))
    assert all((chain[1:] // 4 != chain[:-1] // 4).all() for chain in restless)
    content = videos(6, Rng(0), **SMALL, similarity=1.0)
    world, cosine = draw_world(6, 3, 4, 16, 0.3, (1.0, 1.0), Rng(0))
    assert content.reference["bayes"] == 1.0
    for chain in chains(content):
        assert len(set(chain // 4)) == 1
        for before, after in pairwise(chain):
            g, i = divmod(int(before), 4)
            assert after % 4 == max((j for j in range(4) if j != i), key=lambda j: cosine[g, i, j])
    assert (world.entry.sum(axis=1) == 1).all()


@pytest.mark.parametrize("genres", [1, 3])
def test_who_likes_one_genre_only_stays_in_it(genres: int) -> None:
    """Nothing else to explore: back to the most popular content of the own genre."""
    taste = tuple([0.0] * (genres - 1) + [1.0])
    sizes = SMALL | {"genres": genres}
    tapes = videos(4, Rng(0), **sizes, preferences=taste, similarity=0.3)
    world, _ = draw_world(4, genres, 4, 16, taste, (0.3, 0.3), Rng(0))
    top = (genres - 1) * 4 + int(world.entry[-1].argmax())
    assert all((chain // 4 == genres - 1).all() for chain in chains(tapes))
    after = transition(world, 0)[top]
    assert after[top] == pytest.approx(0.7)
    assert after.max() == pytest.approx(0.7)
    assert tapes.reference["bayes"] >= 0.7


def test_given_preferences_are_everybodys() -> None:
    tapes = videos(5, Rng(0), **SMALL, preferences=(0.5, 0.25, 0.25))
    x, _ = tapes.fetch(tapes.index)
    assert x[:, 1:4].unique(dim=0).tolist() == [[0.5, 0.25, 0.25]]


def test_fewer_requests_are_the_beginning_of_more() -> None:
    short, long = (videos(5, Rng(2), **SMALL | {"requests": n}) for n in (30, 80))
    for a, b in zip(chains(short), chains(long), strict=True):
        assert a.tolist() == b[:31].tolist()
    assert short.test.fetch(short.test.index)[1].equal(long.test.fetch(long.test.index)[1])


def test_the_same_world_with_another_similarity() -> None:
    one, again, other, elsewhere = (
        videos(5, Rng(seed), **SMALL, similarity=v) for seed, v in ((1, 0.3), (1, 0.3), (1, 0.7), (2, 0.3))
    )
    table = [tapes.fetch.table for tapes in (one, again, other, elsewhere)]  # type: ignore[union-attr]
    assert table[0].equal(table[1])
    assert one.label.equal(again.label)
    assert table[0][:, 1:].equal(table[2][:, 1:])
    assert not one.label.equal(other.label)
    assert not table[0].equal(table[3])


@pytest.mark.parametrize(
    ("keywords", "path", "words"),
    [
        ({"similarity": 1.5}, "similarity", "probability"),
        ({"similarity": (-0.1, 0.5)}, "similarity", "probability"),
        ({"similarity": (0.8, 0.1)}, "similarity", "lowest"),
        ({"similarity": float("nan")}, "similarity", "probability"),
        ({"preferences": (0.5, 0.2, 0.2)}, "preferences", "sum to 0.9"),
        ({"preferences": (0.5, 0.5)}, "preferences", "2 shares for 3 genres"),
        ({"preferences": (1.5, -0.5, 0.0)}, "preferences", "negative"),
        ({"preferences": (float("nan"),) * 3}, "preferences", "sum to nan"),
        ({"requests": 900_000, "test_requests": 900_000}, "requests", "10,000,000"),
        ({"genres": 100, "contents_per_genre": 200}, "contents_per_genre", "features"),
    ],
)
def test_refusals(keywords: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        videos(50, Rng(0), **SMALL | keywords)
    assert [problem.path for problem in caught.value.problems] == [f"data.source.{path}"]
    assert words in str(caught.value)


def test_all_refusals_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        videos(5, Rng(0), similarity=2.0, preferences=(1.0,), requests=10**6, test_requests=10**6 + 1)
    assert len(caught.value.problems) == 3


def test_shares_may_be_rounded() -> None:
    third = 0.3333333
    tapes = videos(2, Rng(0), **SMALL, preferences=(third, third, third))
    assert tapes.clients == 2


def test_on_another_device() -> None:
    tapes = videos(2, Rng(0), **SMALL)
    assert tapes.to("cpu") is tapes
    moved = tapes.to("meta")
    assert moved.index.device == moved.offset.device == moved.test.group.device == torch.device("meta")
    for fetch in (moved.fetch, moved.test.fetch):
        x, y = fetch(torch.arange(3))
        assert x.device == y.device == torch.device("meta")


def test_requests_have_the_law_that_the_tapes_tell() -> None:
    """20,000 next requests on tapes and for tests: rows sum to 1, and no p value is below .001."""
    tapes = videos(20, Rng(3), requests=1000, test_requests=1000)
    assert tapes.law is not None
    for index, name in ((tapes.index, "tape"), (tapes.test.index, "test")):
        law, (_, label) = tapes.law(index).numpy(), tapes.fetch(index)
        assert law.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert p_value(law, label.numpy(), Rng(1).child(name)) > 1e-3
    best = tapes.law(tapes.test.index).max(dim=1).values.mean()
    assert tapes.reference["bayes"] == pytest.approx(float(best))


def test_zipf_entries_ask_for_many_more_files() -> None:
    keywords: dict[str, Any] = {"similarity": 0.7, "requests": 300, "test_requests": 10}
    few, many = (videos(48, Rng(1), entry=entry, **keywords) for entry in ("favourite", "zipf"))
    assert len(few.label.unique()) < 30
    assert len(many.label.unique()) >= 60
    assert videos(48, Rng(1), **keywords).label.equal(few.label)
    assert torch.equal(few.fetch.table, many.fetch.table)  # type: ignore[attr-defined]  # the same contents
    certain = videos(48, Rng(1), entry="zipf", zipf_gamma=1e6, **keywords)
    assert certain.label.equal(few.label)  # the first rank alone: the favourite


@pytest.mark.parametrize("entry", ["favourite", "zipf"])
def test_drift_changes_the_law_from_slot_to_slot(entry: Any) -> None:
    """3000 requests at three times by the law of their slot; the ceiling is the mean of the slots' ceilings."""
    tapes = videos(3000, Rng(2), genres=3, contents_per_genre=6, requests=60, test_requests=20, drift=1.0, entry=entry)
    assert tapes.law is not None
    for place in (0, 30, 59):
        index = tapes.index.view(3000, 60)[:, place]
        assert p_value(tapes.law(index).numpy(), tapes.fetch(index)[1].numpy(), Rng(place)) > 1e-3
    best = tapes.law(tapes.test.index).max(dim=1).values.mean()
    assert tapes.reference["bayes"] == pytest.approx(float(best))
    with pytest.raises(SpecError, match="ranks"):
        videos(1, Rng(1), genres=100, contents_per_genre=200, requests=10**5, drift=0.1)
