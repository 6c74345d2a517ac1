"""Rules that make room in full buffers: by hand, against first in first out, and their statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom

from fedradio.core.contracts import Clock, Slots, Tapes
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.fifo import Buffers, Fifo, fifo
from fedradio.data.removal import remove_balanced, remove_random
from fedradio.data.requests import Floats
from fedradio.data.streams import Pooled
from fedradio.data.video_files import video_files

SURE: dict[str, Any] = {"activity": (1.0, 1.0), "scaled": False}
HERE = np.zeros(9)


def places(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


@pytest.fixture(scope="module")
def tapes() -> Tapes:
    """Four clients with 299 requests of 12 files each."""
    return video_files(4, Rng(3), genres=3, files_per_genre=4, requests=300, test_requests=20)


def after(stream: Fifo, rounds: int) -> Slots:
    state = stream.start()
    for t in range(rounds):
        state = stream.arrive(state, Clock(t), Rng(8).child("arrive", t, 0))
    return state


def test_balanced_by_hand() -> None:
    """The case of the module's docstring, in two arrivals and in one; ties go to the oldest."""
    label = places(0, 0, 1, 0, 1, 1)
    first = remove_balanced(places(0, 1, 2, 3), places(4), label, HERE)
    assert first.tolist() == [1, 2, 3, 4]
    assert remove_balanced(first, places(5), label, HERE).tolist() == [1, 3, 4, 5]
    assert remove_balanced(places(0, 1, 2, 3), places(4, 5), label, HERE).tolist() == [1, 3, 4, 5]
    assert remove_balanced(places(2, 0), places(1), places(7, 8, 9), HERE).tolist() == [0, 1]  # all classes once


def test_random_by_hand() -> None:
    """The two smallest keys leave, whoever is older."""
    keys = np.array([0.9, 0.1, 0.5, 0.2])
    assert remove_random(places(3, 5, 6, 8), places(9, 10), places(*range(11)), keys).tolist() == [3, 6, 9, 10]


def test_a_list_that_drops_the_oldest_is_first_in_first_out(tapes: Tapes) -> None:
    """The same arrivals, statistics and mini-batches as of windows, bit for bit: also where tapes repeat."""

    def oldest(held: Ints, new: Ints, label: Ints, key: Floats) -> Ints:
        return np.concatenate([held, new])[len(new) :]

    for more in ({}, {"at_end": "repeat", "slots": 60}):
        window = fifo(tapes, Rng(1), capacity=(60, 90), **more)
        assert isinstance(window, Fifo)
        size = (tapes, window.capacity, window.activity, window.chances, window.arrivals, window.at_end)
        listed = Buffers(*size, oldest)
        a, b = after(window, 12), after(listed, 12)
        assert torch.equal(a["hi"], b["hi"])
        for name, values in window.stats(a).items():
            assert torch.equal(values, listed.stats(b)[name]), name
        ids, updates = torch.tensor([0, 2, 3]), torch.tensor([4, 1, 9])
        one, other = (s.draw(state, ids, updates, 16, Rng(2)).labelled for s, state in ((window, a), (listed, b)))
        assert torch.equal(one.index, other.index)
        assert torch.equal(one.count, other.count)


@pytest.mark.parametrize("removal", ["random", "balanced"])
def test_what_arrives_does_not_depend_on_the_rule(tapes: Tapes, removal: str) -> None:
    """Sizes, fresh samples and label counts of a buffer whose list is known."""
    plain, other = (fifo(tapes, Rng(1), capacity=(40, 60), slots=8, removal=r) for r in ("fifo", removal))
    assert isinstance(other, Buffers)
    for rounds in (1, 2, 9):
        a, b = after(plain, rounds), after(other, rounds)  # type: ignore[arg-type]
        stats, was = other.stats(b), plain.stats(a)
        assert torch.equal(stats["seen"], was["seen"])
        assert torch.equal(stats["samples"], was["samples"])
        for c in range(4):
            held = b["held"][c][b["held"][c] >= 0]
            assert len(held) == len(set(held.tolist())) == other.capacity[c]
            labels = tapes.label[tapes.offset[c] + held]
            assert torch.equal(torch.bincount(labels, minlength=12), stats["label_counts"][c])
            new = torch.arange(int(was["seen"][c]))[other.capacity[c] :]
            if rounds == 2:  # what came last is never what leaves
                assert set(new.tolist()) <= set(held.tolist())
    pooled = Pooled(other, Rng(0))
    assert int(pooled.stats(b)["samples"]) == int(stats["samples"].sum())


def test_balanced_buffers_are_more_even(tapes: Tapes) -> None:
    """The most frequent label of a buffer has a smaller share than under first in, first out, for every client."""
    share = {}
    for removal in ("fifo", "balanced"):
        stream = fifo(tapes, Rng(1), capacity=(40, 40), slots=20, **SURE, removal=removal)
        counts = stream.stats(after(stream, 12))["label_counts"].double()  # type: ignore[arg-type]
        share[removal] = counts.max(dim=1).values / counts.sum(dim=1)
    assert bool((share["balanced"] < share["fifo"]).all())


def test_random_removal_forgets_geometrically() -> None:
    """A sample of the start survives 5 rounds of 10 of 100 with .9^5; 1000 of them, significance 1e-3."""
    tapes = video_files(10, Rng(3), genres=3, files_per_genre=4, requests=200, test_requests=20)
    stream = fifo(tapes, Rng(1), capacity=(100, 100), slots=10, **SURE, removal="random")
    held = after(stream, 6)["held"]  # type: ignore[arg-type]
    left = int(((held >= 0) & (held < 100)).sum())
    low, high = binom.ppf([5e-4, 1 - 5e-4], 1000, 0.9**5)
    assert low <= left <= high
