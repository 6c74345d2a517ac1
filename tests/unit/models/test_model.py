"""Wrapped modules: one row of numbers, of which norm layers stay with the client."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from support.elsewhere import received
from torch import Tensor, nn

from fedradio.core.rng import Rng
from fedradio.models import wrap
from fedradio.models.dropout import SeededDropout
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


def test_norm_layers_stay_with_the_client() -> None:
    module = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.LayerNorm(5), nn.Linear(5, 2))
    model = wrap(module, (4,), 2)
    assert [field.name for field in model.shared.fields] == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert [field.name for field in model.local.fields] == ["1.weight", "1.bias", "2.weight", "2.bias"]
    assert [field.name for field in model.buffers.fields] == ["1.running_mean", "1.running_var"]
    assert model.size == 37 + 20 + 10


def test_a_wrapped_module_with_given_values_predicts_as_it_does() -> None:
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3))
    module[1].running_mean.normal_(generator=Rng(0).torch())
    model = wrap(module, (2, 4, 4), 3, start="given")
    x = torch.randn(5, 2, 4, 4)
    assert torch.allclose(model.apply(model.init(Rng(0)), x), module.eval()(x), atol=1e-6)
    assert torch.equal(model.init(Rng(0)), model.init(Rng(1)))
    assert model.init(Rng(0)).data_ptr() != model.init(Rng(0)).data_ptr()


def test_the_row_decides_not_the_module() -> None:
    model = wrap(nn.Linear(4, 2), (4,), 2)
    assert not model.apply(torch.zeros(10, dtype=torch.float64), torch.randn(3, 4)).any()
    assert model.apply(torch.zeros(10, dtype=torch.float64), torch.randn(3, 4)).dtype == torch.float64


def test_a_model_can_be_sent_to_another_process() -> None:
    """With norm layers and dropout, after it has been used in this one."""
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
    model, x = wrap(net, (4,), 2), torch.randn(5, 4, generator=Rng(1).torch())
    row = model.init(Rng(0))
    wanted = model.apply(row, x)
    other = received(model)
    assert torch.equal(other.init(Rng(0)), row)
    assert torch.equal(other.apply(row, x), wanted)
    assert (other.shared, other.local, other.buffers) == (model.shared, model.local, model.buffers)


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


def test_threads_may_share_a_model() -> None:
    model = wrap(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (4,), 3)
    rows, x = torch.randn(4, model.size), torch.randn(50, 4)
    expected = [model.apply(row, x) for row in rows]

    def right(number: int) -> bool:
        return all(torch.equal(model.apply(rows[number], x), expected[number]) for _ in range(100))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, range(4)))
