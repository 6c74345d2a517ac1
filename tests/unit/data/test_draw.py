"""Mini-batches against a plain loop; epochs are permutations, and nobody's picks depend on others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch

from fedradio.core.contracts import Picks, Samples, Tapes
from fedradio.core.rng import Rng
from fedradio.data.draw import Segments, draw_epochs
from fedradio.data.streams import Window, static
from fedradio.data.tapes import make_tapes

Make = Callable[..., Samples]


SIZES = (7, 1, 40, 16, 3)


@pytest.fixture
def tapes(images: Make) -> Tapes:
    return make_tapes(images(sum(SIZES)), list(torch.arange(sum(SIZES)).split(SIZES)), Rng(0))


def whole(tapes: Tapes, client: int) -> set[int]:
    return set(tapes.index[tapes.offset[client] : tapes.offset[client + 1]].tolist())


def real(picks: Picks, row: int) -> list[list[int]]:
    """The real sample numbers of every batch of a row."""
    return [picks.index[row, t, : picks.count[row, t]].tolist() for t in range(picks.count.shape[1])]


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


def plain_draw(pools: list[list[int]], client: int, updates: int, batch: int, rng: Rng) -> list[list[int]]:
    """The oracle: one client, one epoch, one batch at a time."""
    mine = pools[client]
    if not mine:
        return [[] for _ in range(updates)]
    batches: list[list[int]] = []
    epoch = 0
    while len(batches) < updates:
        if len(mine) > batch:
            bits = (
                rng.child("epoch", epoch)
                .numpy()
                .integers(0, 2**64 - 1, size=sum(map(len, pools)), dtype=np.uint64, endpoint=True)
            )
            start = sum(map(len, pools[:client]))
            keys = [int(bit) for bit in bits[start : start + len(mine)]]
            order = sorted(range(len(mine)), key=lambda j: (keys[j] >> 24, j))
        else:
            order = list(range(len(mine)))
        shuffled = [mine[j] for j in order]
        batches += [shuffled[i : i + batch] for i in range(0, len(mine), batch)]
        epoch += 1
    return batches[:updates]


@pytest.mark.parametrize("batch", [1, 3, 7, 8, 40, 1000])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_draw_equals_the_plain_loop(tapes: Tapes, batch: int, most: int) -> None:
    stream = Window(tapes)
    clients = torch.tensor([3, 0, 2, 1])
    updates = torch.tensor([most, 1, max(most - 1, 1), most])
    batches = stream.draw(stream.start(), clients, updates, batch, Rng(5))
    assert batches.unlabelled is None
    assert batches.labelled.index.shape == (4, most, min(batch, max(SIZES)))
    assert batches.labelled.count.shape == (4, most)
    assert batches.labelled.index.dtype == batches.labelled.count.dtype == torch.int64
    pools = [tapes.index[a:b].tolist() for a, b in zip(tapes.offset[:-1], tapes.offset[1:], strict=True)]
    for row, (client, n) in enumerate(zip(clients.tolist(), updates.tolist(), strict=True)):
        expected = plain_draw(pools, client, n, batch, Rng(5))
        assert real(batches.labelled, row) == expected + [[]] * (most - n)


def test_every_epoch_is_a_permutation(tapes: Tapes) -> None:
    stream = static(tapes, Rng(0))
    batch = 6
    for client, size in enumerate(SIZES):
        per_epoch = math.ceil(size / batch)
        picks = stream.draw(
            stream.start(), torch.tensor([client]), torch.tensor([3 * per_epoch]), batch, Rng(1)
        ).labelled
        epochs = [flat(real(picks, 0)[k * per_epoch : (k + 1) * per_epoch]) for k in range(3)]
        assert all(sorted(epoch) == sorted(whole(tapes, client)) for epoch in epochs)
        last = size - batch * (per_epoch - 1)
        assert picks.count[0].tolist() == ([batch] * (per_epoch - 1) + [last]) * 3
        if size > batch:
            assert epochs[0] != epochs[1]


def test_picks_do_not_depend_on_the_others_nor_on_what_follows(tapes: Tapes) -> None:
    stream = Window(tapes)
    every = stream.draw(stream.start(), torch.arange(5), torch.full((5,), 20), 4, Rng(2)).labelled
    for client in range(5):
        alone = stream.draw(stream.start(), torch.tensor([client]), torch.tensor([11]), 4, Rng(2)).labelled
        assert real(alone, 0) == real(every, client)[:11]


def test_draws_differ_by_generator_only(tapes: Tapes) -> None:
    stream = Window(tapes)
    ask = (stream.start(), torch.tensor([2]), torch.tensor([10]), 4)
    one, again, other = (stream.draw(*ask, Rng(3).child("t", t)).labelled for t in (0, 0, 1))
    assert one.index.equal(again.index)
    assert not one.index.equal(other.index)


def test_nobody_and_no_updates(tapes: Tapes) -> None:
    stream = Window(tapes)
    none = torch.zeros(0, dtype=torch.long)
    assert stream.draw(stream.start(), none, none, 4, Rng(0)).labelled.index.shape == (0, 0, 4)
    assert stream.draw(stream.start(), torch.tensor([1]), torch.tensor([0]), 4, Rng(0)).labelled.count.shape == (1, 0)


def test_shuffling_is_uniform() -> None:
    """Which of five samples comes first, second...: every cell of 5 x 5 within five deviations of its mean."""
    runs = Segments(np.arange(5), np.zeros(1, np.int64), np.array([5]))
    draws = 2000
    index, _ = draw_epochs(runs, np.zeros(1, np.int64), np.array([5 * draws]), 1, Rng(11))
    seen = np.zeros((5, 5))
    np.add.at(seen, (np.arange(5 * draws) % 5, index.ravel()), 1)
    deviation = math.sqrt(draws * 0.2 * 0.8)
    assert np.abs(seen - draws / 5).max() < 5 * deviation
    orders = Counter(map(tuple, index.reshape(draws, 5)))
    assert len(orders) == 120
