"""Start values of a module of the user's own: the same for the same seed, whoever made the module, and in its law."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from fedradio.core.rng import Rng
from fedradio.models import wrap
from fedradio.models.model import GivenStart, row_of
from fedradio.models.redraw import cannot_be_redrawn, redrawn


class Attention(nn.Module):
    """Attention over four tokens, then a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.view(-1, 4, 4)
        out: Tensor = self.head(self.attend(x, x, x, need_weights=False)[0].flatten(1))
        return out


class Reader(nn.Module):
    """The last hidden vector of an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.read(x.view(-1, 4, 4))[0][:, -1])
        return out


class Scaled(nn.Module):
    """A bare parameter, filled by its module's own method."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(3, 16))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.scale, std=0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.scale.T


class Bare(nn.Module):
    """A bare parameter that nothing can fill anew."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(3, 16))

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.scale.T


KINDS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3)),
    "conv": lambda: nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3)),
    "norm": lambda: nn.Sequential(nn.Linear(16, 6), nn.BatchNorm1d(6), nn.LayerNorm(6), nn.Linear(6, 3)),
    "embedding": lambda: nn.Sequential(nn.Embedding(9, 2), nn.Flatten(), nn.Linear(32, 3)),
    "lstm": Reader,
    "attention": Attention,
    "custom": Scaled,
    "nested": lambda: nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(16, 4), nn.ReLU()), nn.Linear(4, 3)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_alone_decides(kind: str) -> None:
    state = torch.get_rng_state()
    models = [wrap(KINDS[kind](), (16,), 3) for _ in range(2)]
    first, second = (model.init(Rng(1)) for model in models)
    assert torch.equal(first, second)
    assert not torch.equal(first, models[0].init(Rng(2)))
    assert models[0].given_sha256 is None
    assert models[0].given_start is None
    torch.set_rng_state(state)


def test_the_global_generator_is_left_alone() -> None:
    module = KINDS["linear"]()
    state = torch.get_rng_state()
    wrap(module, (16,), 3).init(Rng(1))
    assert torch.equal(torch.get_rng_state(), state)


def test_values_follow_the_law_of_the_layer() -> None:
    """As torch: a linear layer of 400 inputs in U(-1/20, 1/20), norm layers at 1 and 0."""
    linear = nn.Linear(400, 300)
    nn.init.constant_(linear.weight, 7.0)
    fresh = dict(redrawn(nn.Sequential(linear, nn.LayerNorm(300)), Rng(3)).named_parameters())
    weight = fresh["0.weight"].detach()
    assert float(weight.abs().max()) <= 0.05
    assert float(weight.std()) == pytest.approx(0.05 / 3**0.5, rel=0.02)
    assert torch.equal(fresh["1.weight"], torch.ones(300))
    assert float(linear.weight.detach().min()) == 7.0  # what was given is untouched


def test_what_cannot_be_redrawn_is_taken_as_it_is_and_has_a_checksum() -> None:
    module = Bare()
    assert cannot_be_redrawn(module) == "Bare has no reset_parameters"
    assert cannot_be_redrawn(nn.Sequential(nn.Flatten(), module)) == "Bare (1) has no reset_parameters"
    model, again = wrap(module, (16,), 3), wrap(module, (16,), 3)
    assert torch.equal(model.init(Rng(1)), row_of(module))
    assert model.given_sha256 is not None
    assert model.given_sha256 == again.given_sha256 != wrap(Bare(), (16,), 3).given_sha256
    expected = hashlib.sha256(module.scale.detach().numpy().tobytes()).hexdigest()
    assert model.given_start == GivenStart(expected, "Bare has no reset_parameters")


class Halved(nn.Linear):
    """Fills itself with half of what it has, which is not anew."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        nn.init.ones_(self.weight)  # torch gives memory with whatever was in it, NaN among it

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.weight.mul_(0.5)
            self.bias.zero_()


class Unseeded(nn.Linear):
    """Draws from a generator that no seed of a run reaches."""

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.weight.fill_(random.random())
            self.bias.zero_()


class Failing(nn.Linear):
    filled = False

    def reset_parameters(self) -> None:
        if self.filled:
            raise ValueError("only once")
        super().reset_parameters()
        self.filled = True


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Halved(16, 3), "reset_parameters does not fill weight"),
        (Unseeded(16, 3), "reset_parameters does not draw weight from torch's generator"),
        (Failing(16, 3), "reset_parameters raises ValueError"),
        (nn.utils.parametrizations.weight_norm(nn.Linear(16, 3)), "reset_parameters"),
        (nn.utils.parametrizations.spectral_norm(nn.Linear(16, 3)), "reset_parameters"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_method_that_does_not_redraw_is_found_out(module: nn.Module, reason: str) -> None:
    assert reason in (cannot_be_redrawn(module) or "")
    model = wrap(module, (16,), 3)
    assert torch.equal(model.init(Rng(1)), model.init(Rng(2)))
    assert model.given_sha256 is not None


def test_buffers_that_no_seed_draws_are_in_the_checksum() -> None:
    marks = set()
    for scale in (1.0, 2.0):
        module = nn.Sequential(nn.Linear(16, 3), nn.BatchNorm1d(3))
        assert wrap(module, (16,), 3).given_sha256 is None  # running statistics start where they always do
        module[0].register_buffer("features", torch.full((4,), scale))
        marks.add(wrap(module, (16,), 3).given_sha256)
    assert len(marks) == 2


def test_given_values_stay() -> None:
    module = nn.Linear(16, 3)
    nn.init.constant_(module.weight, 0.25)
    model = wrap(module, (16,), 3, start="given")
    assert torch.equal(model.init(Rng(1)), row_of(module))
    assert model.given_sha256 is not None
    assert model.given_start is not None
    assert model.given_start.reason == 'asked for by start="given"'


def test_frozen_parameters_keep_their_values_and_are_not_in_the_row() -> None:
    first = nn.Linear(16, 4).requires_grad_(False)
    module = nn.Sequential(first, nn.Linear(4, 3))
    model = wrap(module, (16,), 3)
    assert [field.name for field in model.shared.fields] == ["1.weight", "1.bias"]
    assert model.frozen == 16 * 4 + 4
    assert torch.equal(redrawn(module, Rng(1)).get_parameter("0.weight"), first.weight)
    x = torch.randn(5, 16, generator=Rng(5).torch())
    row = model.init(Rng(1))
    expected = first(x) @ model.views(row)["1.weight"].T + model.views(row)["1.bias"]
    assert torch.allclose(model.apply(row, x), expected, atol=1e-6)
