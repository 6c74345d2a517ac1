"""Any torch module as a flat row: what goes where, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.models import wrap
from fedradio.models.dropout import SeededDropout, set_generator
from fedradio.models.model import prefers_channels_last


class Viewer(nn.Module):
    """Flattens by ``view``, which channels-last images do not allow."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3)
        self.head = nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return self.head(x.view(len(x), -1))


class Hidden(nn.Module):
    """Drops units without a layer that says so."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(functional.dropout(x, 0.5, self.training))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.head(x)


def _frozen() -> nn.Module:
    module = nn.Linear(4, 2)
    module.bias.requires_grad_(False)
    return module


def test_norm_layers_stay_with_the_client() -> None:
    module = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.LayerNorm(5), nn.Linear(5, 2))
    model = wrap(module, (4,), 2)
    assert [field.name for field in model.shared.fields] == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert [field.name for field in model.local.fields] == ["1.weight", "1.bias", "2.weight", "2.bias"]
    assert [field.name for field in model.buffers.fields] == ["1.running_mean", "1.running_var"]
    assert model.size == 37 + 20 + 10


def test_a_wrapped_module_starts_from_its_own_values_and_predicts_as_it_does() -> None:
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3))
    module[1].running_mean.normal_(generator=Rng(0).torch())
    model = wrap(module, (2, 4, 4), 3)
    x = torch.randn(5, 2, 4, 4)
    assert torch.allclose(model.apply(model.init(Rng(0)), x), module.eval()(x), atol=1e-6)
    assert torch.equal(model.init(Rng(0)), model.init(Rng(1)))
    assert model.init(Rng(0)).data_ptr() != model.init(Rng(0)).data_ptr()


def test_the_row_decides_not_the_module() -> None:
    model = wrap(nn.Linear(4, 2), (4,), 2)
    assert not model.apply(torch.zeros(10, dtype=torch.float64), torch.randn(3, 4)).any()
    assert model.apply(torch.zeros(10, dtype=torch.float64), torch.randn(3, 4)).dtype == torch.float64


def test_wrapping_leaves_the_module_alone() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.4), nn.Linear(4, 2))
    state = torch.get_rng_state()
    model = wrap(module, (4,), 2)
    assert torch.equal(state, torch.get_rng_state())
    assert isinstance(module[1], nn.Dropout)
    assert isinstance(model.module[1], SeededDropout)  # type: ignore[index]


def test_tied_parameters_are_one() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    module[2].weight = module[0].weight
    model = wrap(module, (4,), 4)
    assert model.shared.size == 16 + 4 + 4
    row, x = torch.randn(24), torch.randn(3, 4)
    w, b0, b2 = row[:16].view(4, 4), row[16:20], row[20:]
    assert torch.allclose(model.apply(row, x), torch.tanh(x @ w.T + b0) @ w.T + b2, atol=1e-6)


def test_ids_stay_integers() -> None:
    model = wrap(nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(15, 4)), (5,), 4)
    assert model.apply(model.init(Rng(0)), torch.randint(9, (2, 5))).shape == (2, 4)


def test_memory_order_is_chosen_by_trial() -> None:
    model = wrap(Viewer(), (1, 4, 4), 2)
    assert not prefers_channels_last(model.module, model.shape)
    assert model.apply(model.init(Rng(0)), torch.zeros(3, 1, 4, 4)).shape == (3, 2)
    assert prefers_channels_last(nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten()), (1, 4, 4))


@pytest.mark.parametrize(
    ("module", "path", "reason"),
    [
        (nn.LazyLinear(2), "model.weight", "lazy"),
        (_frozen(), "model.bias", "frozen"),
        (nn.Sequential(nn.Linear(4, 2, bias=False), nn.RReLU()), "model.1", "global generator"),
        (nn.Sequential(nn.AlphaDropout(0.5), nn.Linear(4, 2)), "model.0", "global generator"),
        (Hidden(), "model", "global generator"),
        (Counter(), "model.calls", "integer buffer"),
        (nn.Sequential(nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 2)), "model.0", "count"),
        (nn.Linear(4, 3), "model", "shape"),
        (nn.Linear(5, 2), "model", "failed on zeros"),
        (nn.LSTM(4, 2), "model", "shape"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_refused(module: nn.Module, path: str, reason: str) -> None:
    with pytest.raises(SpecError) as caught:
        wrap(module, (4,), 2)
    assert caught.value.problems[0].path == path
    assert reason in caught.value.problems[0].reason


def test_too_large_is_refused() -> None:
    with torch.device("meta"):
        module = nn.Linear(20_000, 20_000)
    with pytest.raises(SpecError, match="at most"):
        wrap(module, (20_000,), 20_000)


def test_dropout_follows_its_generator() -> None:
    layer = SeededDropout(0.25)
    x = torch.ones(200, 50)
    set_generator(layer, Rng(4).torch())
    first, second = layer(x), layer(x)
    assert not torch.equal(first, second)
    set_generator(layer, Rng(4).torch())
    assert torch.equal(first, layer(x))
    assert first.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert first.mean() == pytest.approx(1.0, abs=0.03)
    assert torch.equal(layer.eval()(x), x)


def test_dropout_of_everything_and_without_a_generator() -> None:
    layer = SeededDropout(1.0)
    with pytest.raises(RuntimeError, match="generator"):
        layer(torch.ones(3))
    set_generator(layer, Rng(4).torch())
    assert not layer(torch.ones(3)).any()


def test_dropout_does_not_see_the_memory_order() -> None:
    layer = SeededDropout(0.5)
    x = torch.ones(2, 3, 4, 5)
    set_generator(layer, Rng(4).torch())
    straight = layer(x)
    set_generator(layer, Rng(4).torch())
    assert torch.equal(straight, layer(x.contiguous(memory_format=torch.channels_last)))


def test_threads_may_share_a_model() -> None:
    model = wrap(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (4,), 3)
    rows, x = torch.randn(4, model.size), torch.randn(50, 4)
    expected = [model.apply(row, x) for row in rows]

    def right(number: int) -> bool:
        return all(torch.equal(model.apply(rows[number], x), expected[number]) for _ in range(100))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, range(4)))
