"""The trial of a user's own module on real samples; the long table is in tests/integration/test_wrong_modules.py."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fedradio.core.errors import SpecError
from fedradio.models.own import check_given, copied, sample_problems

X = torch.linspace(-1, 1, 8).view(2, 4)
Y = torch.tensor([0, 1])


def values(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in module.named_parameters()}


def problems(module: nn.Module) -> list[str]:
    return [str(problem) for problem in sample_problems(module, values(module), X, Y, 2)]


class Twice(nn.Module):
    """Two layers, of which the second is used in one mode alone."""

    def __init__(self, training: bool) -> None:
        super().__init__()
        self.first, self.second, self.where = nn.Linear(4, 2), nn.Linear(4, 2), training

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x) + (self.second(x) if self.training is self.where else 0.0)  # type: ignore[no-any-return]


def test_gradients_are_those_of_training() -> None:
    assert problems(Twice(training=True)) == []
    first, second = problems(Twice(training=False))
    assert first.startswith("model.second.weight: is trainable, but gets no gradient")
    assert second.startswith("model.second.bias: is trainable, but gets no gradient")


def test_the_module_is_left_as_it_is() -> None:
    module = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    held = {name: t.detach() for name, t in (*module.named_parameters(), *module.named_buffers()) if t.dim()}
    assert sample_problems(module, held, X, Y, 2) == []
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert module.training


def test_labels_beyond_the_outputs_are_not_the_modules_fault() -> None:
    module = nn.Linear(4, 2)
    assert sample_problems(module, values(module), X, torch.tensor([0, 5]), 2) == []


def test_all_wrong_arguments_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        check_given("net", "4", True, {"norms": ("here", ("local", "shared"))})
    assert [problem.path for problem in caught.value.problems] == ["wrap.norms", "wrap.shape", "wrap.classes", "model"]
    check_given(nn.Linear(4, 2), (4,), 2, {"norms": ("local", ("local", "shared"))})


def test_a_copy_is_a_copy() -> None:
    module = nn.Linear(4, 2)
    other = copied(module)
    assert other is not module
    module.hook = (each for each in ())  # type: ignore[assignment]
    with pytest.raises(SpecError, match="cannot be copied"):
        copied(module)
