"""Attacks on tags: ranks by hand, sequences that give everything away, and tags that tell nothing."""

import numpy as np
import pytest

from fedradio.core.rng import Rng
from fedradio.privacy.attack import Knowledge, best_guess, hidden, learn, named, rank_matching, sequences


def chains(law: np.ndarray, users: int, length: int, rng: Rng) -> list[np.ndarray]:
    """Sequences of a Markov chain with the law ``[K, K]``."""
    draw, total = rng.numpy(), np.cumsum(law, axis=1)
    last, found = draw.integers(len(law), size=users), np.empty((users, length), np.int64)
    for t in range(length):
        last = (draw.random(users)[:, None] >= total[last]).sum(axis=1)
        found[:, t] = last
    return list(found)


def test_rank_matching_by_hand() -> None:
    known = Knowledge(np.array([0, 1, 2]), np.array([0.2, 0.5, 0.3]), np.zeros((3, 3)))
    tags = [np.array([2, 0, 2]), np.array([0, 2, 1])]  # tag 2 three times, tag 0 twice, tag 1 once
    guess = rank_matching(tags, known)
    assert guess.tolist() == [2, 0, 1]
    assert named(tags, guess, np.array([2, 1, 1])) == pytest.approx(5 / 6)
    few = Knowledge(np.array([7]), np.array([1.0]), np.zeros((1, 1)))
    assert rank_matching(tags, few).tolist() == [-1, -1, 7]


def test_knowledge_and_hidden_sequences() -> None:
    asked = [np.array([5, 9, 5]), np.array([9, 9]), np.array([], np.int64)]
    known = learn(asked)
    assert known.content.tolist() == [5, 9]
    assert known.count.tolist() == [2, 3]
    assert known.follows.tolist() == [[0, 1], [1, 1]]
    tags, truth = hidden(asked, Rng(1))
    assert [truth[part].tolist() for part in tags] == [[5, 9, 5], [9, 9], []]
    assert best_guess(asked, known) == pytest.approx(3 / 5)


def test_sequences_name_what_ranks_cannot() -> None:
    """Mixtures of permutations: all contents are equally popular, successors tell them apart."""
    ranked, followed = [], []
    for world in range(4):
        draw = Rng(world).numpy()
        law = sum(share * np.eye(8)[draw.permutation(8)] for share in (0.45, 0.3, 0.15, 0.1))
        known = learn(chains(law, 12, 3000, Rng(world).child("past")))
        tags, truth = hidden(chains(law, 12, 200, Rng(world).child("now")), Rng(3))
        followed.append(named(tags, sequences(tags, known, Rng(4)), truth))
        ranked.append(named(tags, rank_matching(tags, known), truth))
    assert np.mean(followed) > 0.9
    assert np.mean(ranked) < 0.5


def test_contents_without_any_order_stay_hidden() -> None:
    law = np.full((8, 8), 1 / 8)
    known = learn(chains(law, 12, 3000, Rng(1)))
    shares = []
    for draw in range(10):
        tags, truth = hidden(chains(law, 12, 8, Rng(draw + 2)), Rng(draw))
        shares.append(named(tags, sequences(tags, known, Rng(draw)), truth))
    assert np.mean(shares) < 0.3  # 1/8 by chance


def test_more_tags_than_known_contents() -> None:
    tags = [np.array([0, 1, 2, 3, 0, 1])]
    known = learn([np.array([4, 5, 4, 5])])
    guess = sequences(tags, known, Rng(1))
    assert sorted(guess.tolist()) == [-1, -1, 4, 5]
