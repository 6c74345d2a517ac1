"""Modules that are refused before they are trained."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from fedradio.core.errors import SpecError
from fedradio.models import cnn3x3, cnn_batchnorm, wrap
from fedradio.models.checks import evaluated_one_by_one, sample_by_sample
from fedradio.models.dropout import SeededDropout


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
    return nn.Linear(4, 2).requires_grad_(False)


@pytest.mark.parametrize(
    ("module", "path", "reason"),
    [
        (nn.LazyLinear(2), "model.weight", "lazy"),
        (_frozen(), "model", "the module has no trainable parameter"),
        (nn.Sequential(nn.Linear(4, 2, bias=False), nn.RReLU()), "model.1", "global generator"),
        (nn.Sequential(nn.AlphaDropout(0.5), nn.Linear(4, 2)), "model.0", "global generator"),
        (Hidden(), "model", "global generator"),
        (Counter(), "model.calls", "integer buffer"),
        (nn.Sequential(nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 2)), "model.0", "is not supported"),
        (nn.Linear(4, 3), "model", "shape"),
        (nn.Linear(5, 2), "model", "failed on an all-zero input"),
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


class Centred(nn.Module):
    """Subtracts the mean of the batch without a layer that says so."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x - x.mean(dim=0))


class Named(Centred):
    repeats_until = "head"


@pytest.mark.parametrize(
    ("module", "shape", "expected"),
    [
        (nn.Linear(4, 2), (4,), ""),
        (cnn3x3((2, 8, 8), 3).module, (2, 8, 8), ""),
        (nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), SeededDropout(0.0), nn.Linear(3, 2)), (4,), ""),
        (nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(12, 2)), (4,), ""),
        (nn.Sequential(nn.Linear(4, 2), SeededDropout(0.1)), (4,), None),
        (nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.Flatten()), (2, 2, 2), None),
        (nn.Sequential(nn.Conv2d(2, 3, 1), nn.InstanceNorm2d(3, track_running_stats=True)), (2, 2, 2), None),
        (Centred(), (4,), None),
        (Named(), (4,), "head"),
    ],
)
def test_whether_training_treats_every_sample_by_itself(
    module: nn.Module, shape: tuple[int, ...], expected: str | None
) -> None:
    assert sample_by_sample(module, shape) == expected


@pytest.mark.parametrize(
    ("module", "shape", "expected"),
    [
        (cnn_batchnorm((2, 8, 8), 3).module, (2, 8, 8), True),
        (nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), SeededDropout(0.5), nn.Linear(12, 2)), (4,), True),
        (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)), (4,), False),
        (Centred(), (4,), False),
    ],
)
def test_whether_evaluation_treats_every_sample_by_itself(
    module: nn.Module, shape: tuple[int, ...], expected: bool
) -> None:
    assert evaluated_one_by_one(module, shape) is expected
