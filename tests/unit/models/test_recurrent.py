"""The sequence model of OSAFL: exact size, the plain torch network, ids and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.models import FlatModel, lstm

SMALL = {"embedding": 5, "width": 7, "layers": 2}


def test_size_of_the_paper() -> None:
    """100 x 32 + 4 x 256 x (32 + 256 + 2) + 2 x 4 x 256 x (256 + 256 + 2) + 100 x 257."""
    model = lstm((10,), 100)
    assert model.shared.size == model.size == 1_378_532
    assert lstm((35,), 100).size == 1_378_532
    assert lstm((10,), 100, ids=130).size == 1_378_532 + 30 * 32
    x = torch.randint(100, (3, 10), generator=Rng(0).torch())
    assert model.apply(model.init(Rng(0)), x).shape == (3, 100)


def test_it_is_torchs_network_read_at_the_last_step() -> None:
    model = lstm((6,), 4, ids=9, **SMALL)
    row = model.init(Rng(1)).double()
    embedding, cells, head = nn.Embedding(9, 5), nn.LSTM(5, 7, num_layers=2), nn.Linear(7, 4)
    plain = nn.ModuleList([embedding, cells, head]).double()
    for theirs, ours in zip(plain.parameters(), model.views(row).values(), strict=True):
        theirs.data = ours
    x = torch.randint(9, (5, 6), generator=Rng(2).torch())
    _, (hidden, _) = cells(embedding(x.T))
    torch.testing.assert_close(model.apply(row, x), head(hidden[-1]), rtol=1e-12, atol=1e-12)
    assert torch.equal(model.apply(row, x), model.apply(row, x.to(torch.uint8)))


def test_the_start_is_that_of_torch() -> None:
    model = lstm((6,), 40, ids=300, embedding=20, width=50)
    state = torch.get_rng_state()
    row = model.init(Rng(1))
    assert torch.equal(row, lstm((6,), 40, ids=300, embedding=20, width=50).init(Rng(1)))
    assert not torch.equal(row, model.init(Rng(2)))
    assert torch.equal(state, torch.get_rng_state())
    tensors = model.views(row)
    assert tensors.pop("embedding.weight").std() == pytest.approx(1.0, rel=0.05)
    for tensor in tensors.values():
        assert 0.9 / math.sqrt(50) < tensor.abs().max() <= 1 / math.sqrt(50)


def test_threads_do_not_meet() -> None:
    model = lstm((6,), 4, **SMALL)
    x = torch.randint(4, (5, 6), generator=Rng(2).torch())
    rows = [model.init(Rng(seed)) for seed in range(8)]
    expected = [model.apply(row, x) for row in rows]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda row: model.apply(row, x), rows))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: lstm((1, 28, 28), 10), "model"),
        (lambda: lstm((), 10), "model"),
        (lambda: lstm((0,), 10), "model"),
        (lambda: lstm((10,), 10, width=4096, layers=4), "model"),
    ],
)
def test_what_cannot_be_built_is_an_error_of_the_spec(make: Callable[[], FlatModel], path: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert caught.value.problems[0].path == path
    assert caught.value.problems[0].remedy


@pytest.mark.parametrize(
    ("x", "path", "reason"),
    [
        (torch.zeros(2, 6), "model", "not integers"),
        (torch.full((2, 6), 4), "model.ids", "0 to 3"),
        (torch.full((2, 6), -1), "model.ids", "0 to 3"),
    ],
)
def test_inputs_that_are_not_ids_are_named(x: torch.Tensor, path: str, reason: str) -> None:
    model = lstm((6,), 4, **SMALL)
    with pytest.raises(SpecError, match=reason) as caught:
        model.apply(model.init(Rng(0)), x)
    assert caught.value.problems[0].path == path
    assert caught.value.problems[0].remedy
