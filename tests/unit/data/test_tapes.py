"""Tapes: what is held out, what keeps its label, in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from fedradio.core.contracts import Samples, Tapes
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.partition import shards
from fedradio.data.tapes import Pool, make_tapes

Make = Callable[..., Samples]

MNIST_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
"""Training samples of every label."""


def of(tapes: Tapes, client: int) -> torch.Tensor:
    return tapes.index[tapes.offset[client] : tapes.offset[client + 1]]


def test_pool_fetches_any_shape() -> None:
    pool = Pool(torch.arange(24.0).view(6, 2, 2), torch.arange(6))
    for index in (torch.tensor(4), torch.tensor([[0, 5], [3, 3]]), torch.zeros(0, 3, dtype=torch.long)):
        x, y = pool(index)
        assert x.shape == (*index.shape, 2, 2)
        assert y.equal(index)
        assert x.equal(pool.x[index])


def test_the_sources_own_test_part(images: Make) -> None:
    samples = images(30)
    parts = [torch.arange(10), torch.arange(10, 30)]
    tapes = make_tapes(samples, parts, Rng(0))
    assert tapes.clients == 2
    assert tapes.offset.tolist() == [0, 10, 30]
    for client, part in enumerate(parts):
        assert of(tapes, client).sort().values.equal(part)
        assert not of(tapes, client).equal(part)  # in random order
    assert tapes.labelled.all()
    assert (tapes.shape, tapes.classes, tapes.sample_bits) == ((1, 2, 2), 10, 32)
    assert (tapes.test.groups, tapes.test.per_client) == (1, False)
    x, y = tapes.test.fetch(tapes.test.index)
    assert x.equal(samples.test_x)
    assert y.equal(samples.test_y)
    assert not tapes.test.group.any()


def test_each_client_its_own_test_part(images: Make) -> None:
    parts = [torch.arange(10), torch.arange(10, 30), torch.tensor([30, 31])]
    tapes = make_tapes(images(32), parts, Rng(0), test="client", test_fraction=0.3)
    assert (tapes.test.groups, tapes.test.per_client) == (3, True)
    assert torch.bincount(tapes.test.group).tolist() == [3, 6, 1]  # of two samples, one
    assert tapes.test.group.equal(tapes.test.group.sort().values)
    for client, part in enumerate(parts):
        held = tapes.test.index[tapes.test.group == client]
        assert torch.cat((held, of(tapes, client))).sort().values.equal(part)


def test_unlabelled_share_is_exact_per_client(images: Make) -> None:
    parts = [torch.arange(100), torch.arange(100, 115), torch.tensor([115])]
    tapes = make_tapes(images(116), parts, Rng(0), unlabelled=0.9)
    lost = [int((~tapes.labelled[tapes.offset[c] : tapes.offset[c + 1]]).sum()) for c in range(3)]
    assert lost == [90, 14, 0]  # 13.5 is rounded up; the last label stays
    assert tapes.labelled[:100].nonzero().max() > 30  # at random places, not in front


def test_fedcpsl_numbers() -> None:
    """Of 3000 samples 600 for testing, 240 labelled, 2160 unlabelled; pure shards of MNIST differ a little in size."""
    y = torch.repeat_interleave(torch.arange(10), torch.tensor(MNIST_COUNTS))
    x = torch.zeros(len(y), 1, 1, 1)
    mnist = Samples(x, y, x[:1], y[:1], 10, sample_bits=8.0)
    parts = shards(mnist.y, 10, torch.zeros(20, dtype=torch.long), Rng(0))
    tapes = make_tapes(mnist, parts, Rng(0), test="client", unlabelled=0.9)
    assert torch.bincount(tapes.test.group).tolist() == [600] * 20
    assert tapes.offset.diff().tolist() == [2400] * 20
    assert tapes.labelled.view(20, 2400).sum(1).tolist() == [240] * 20


def test_determinism(images: Make) -> None:
    samples, parts = images(40), [torch.arange(20), torch.arange(20, 40)]
    one, again, other = (make_tapes(samples, parts, Rng(s), test="client", unlabelled=0.5) for s in (1, 1, 2))
    assert one.index.equal(again.index)
    assert one.labelled.equal(again.labelled)
    assert not one.index.equal(other.index)


def test_labels_do_not_move_the_order(images: Make) -> None:
    """The same world with fewer labels: the tapes are the same, and labels are only taken away."""
    samples, parts = images(60), [torch.arange(60)]
    all_, half, few = (make_tapes(samples, parts, Rng(1), unlabelled=u) for u in (0.0, 0.5, 0.9))
    assert all_.index.equal(half.index)
    assert half.labelled[few.labelled].all()


def test_refusals(images: Make) -> None:
    samples = images(12)
    with pytest.raises(SpecError, match=r"no training sample left for client\(s\) 1 "):
        make_tapes(samples, [torch.arange(11), torch.tensor([11])], Rng(0), test="client")
    with pytest.raises(SpecError, match=r"client\(s\) 0 "):
        make_tapes(samples, [torch.arange(0), torch.arange(12)], Rng(0))
    with pytest.raises(SpecError) as error:
        make_tapes(samples, [torch.arange(12)], Rng(0), test="client", test_fraction=1.0, unlabelled=1.5)
    assert [problem.path for problem in error.value.problems] == ["data.test_fraction", "data.unlabelled"]
