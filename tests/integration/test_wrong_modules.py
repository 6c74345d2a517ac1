"""Modules of the user's own that cannot be learnt: each is refused before a run, by an error that names the cause."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.worlds import tiny
from torch import Tensor, nn
from torch.nn import functional

from fedradio import FlatModel, SpecError, build, check_spec, load_part_file, wrap
from fedradio.core import part_files, registry
from fedradio.core.registry import parts


class Net(nn.Module):
    """A linear layer on the pixels, whose output ``change`` makes something of."""

    change: Callable[[Any, Tensor], Any]

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)
        self.begin()

    def begin(self) -> None:
        """Further attributes."""

    def forward(self, x: Tensor) -> Any:
        return self.change(x.flatten(1))


def net(change: Callable[[Any, Tensor], Any], **attributes: Callable[[], Any]) -> Callable[[], nn.Module]:
    """A class of modules with this forward pass and these attributes, made anew for every module."""

    def begin(self: Any) -> None:
        for name, make in attributes.items():
            setattr(self, name, make())

    return type("Net", (Net,), {"change": change, "begin": begin})


def remembering(self: Any, x: Tensor) -> Tensor:
    logits: Tensor = self.head(x) + self.last.mean()
    self.last = logits
    return logits


def counting(self: Any, x: Tensor) -> Tensor:
    self.calls += 1
    logits: Tensor = self.head(x) * self.calls
    return logits


def exiting(self: Any, x: Tensor) -> Tensor:
    sys.exit(3)


def flat(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Flatten(), *layers)


class Forgotten(nn.Module):
    def __init__(self) -> None:  # and nothing more
        pass


class TwoInputs(Net):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        return self.head(x.flatten(1) * mask)  # type: ignore[no-any-return]


class NamedInput(Net):
    def forward(self, *, x: Tensor) -> Tensor:
        return self.head(x.flatten(1))  # type: ignore[no-any-return]


class NoInput(Net):
    def forward(self) -> Tensor:  # type: ignore[override]
        return self.head(torch.zeros(2, 64))  # type: ignore[no-any-return]


class NoForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)


GRADIENT, SHAPE = "is trainable, but gets no gradient", "logits of shape (2, 10)"
NOT_FINITE, OTHER_OUTPUT = "NaN or infinite before any training", "different outputs for the same input"
NOT_REAL, IN_PLACE = "real floating-point numbers", "in place"

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    # nothing to train
    "all frozen": (lambda: flat(nn.Linear(64, 10)).requires_grad_(False), "the module has no trainable parameter"),
    "without parameters": (nn.Flatten, "the module has no trainable parameter"),
    "a layer that is not used": (net(lambda self, x: self.head(x), idle=lambda: nn.Linear(3, 3)), GRADIENT),
    "detached": (net(lambda self, x: self.head(x).detach()), GRADIENT),
    "under no_grad": (net(lambda self, x: torch.no_grad()(self.head)(x)), GRADIENT),
    "in inference mode": (net(lambda self, x: torch.inference_mode()(self.head)(x)), GRADIENT),
    "classes in place of scores": (
        net(lambda self, x: functional.one_hot(self.head(x).argmax(1), 10).float()),
        GRADIENT,
    ),
    "through numpy": (net(lambda self, x: torch.from_numpy(self.head(x).detach().numpy())), GRADIENT),
    "through numpy without detach": (net(lambda self, x: torch.from_numpy(self.head(x).numpy())), "Can't call numpy()"),
    "a root whose gradient is infinite": (
        net(
            lambda self, x: self.head(x) + (x @ self.v).abs().mul(0).sqrt(), v=lambda: nn.Parameter(torch.ones(64, 10))
        ),
        "its gradient on real samples is NaN or infinite",
    ),
    # outputs
    "too few classes": (lambda: flat(nn.Linear(64, 3)), SHAPE),
    "too many classes": (lambda: flat(nn.Linear(64, 11)), SHAPE),
    "one number a sample": (net(lambda self, x: self.head(x)[:, 0]), SHAPE),
    "a dimension too many": (net(lambda self, x: self.head(x).unsqueeze(1)), SHAPE),
    "the mean over the batch": (net(lambda self, x: self.head(x).mean(0)), SHAPE),
    "transposed": (net(lambda self, x: self.head(x).T), SHAPE),
    "a tuple": (net(lambda self, x: (self.head(x), x)), SHAPE),
    "a dict": (net(lambda self, x: {"logits": self.head(x)}), SHAPE),
    "nothing": (net(lambda *_: None), SHAPE),
    "an array": (net(lambda self, x: self.head(x).detach().numpy()), SHAPE),
    "other classes in evaluation": (
        net(lambda self, x: self.head(x) if self.training else self.head(x)[:, :5]),
        "also in evaluation",
    ),
    "NaN": (net(lambda self, x: self.head(x) * float("nan")), NOT_FINITE),
    "infinite": (net(lambda self, x: self.head(x) / 0), NOT_FINITE),
    "the logarithm of negative numbers": (net(lambda self, x: torch.log(self.head(x) - 100)), NOT_FINITE),
    "start values that are NaN": (
        net(lambda self, x: self.head(x) + self.p, p=lambda: nn.Parameter(torch.full((10,), torch.nan))),
        NOT_FINITE,
    ),
    "whole numbers": (net(lambda self, x: self.head(x).long()), NOT_REAL),
    "truth values": (net(lambda self, x: self.head(x) > 0), NOT_REAL),
    "complex numbers": (net(lambda self, x: self.head(x) + 0j), NOT_REAL),
    # inputs
    "another size of the samples": (lambda: flat(nn.Linear(32, 10)), "on an all-zero input"),
    "images not flattened": (lambda: nn.Linear(64, 10), "on an all-zero input"),
    "images of three channels": (
        lambda: nn.Sequential(nn.Conv2d(3, 10, 8), nn.Flatten()),
        "on an all-zero input",
    ),
    "ids in place of numbers": (lambda: flat(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(256, 10)), "on numbers of"),
    "two inputs": (TwoInputs, "forward(x: 'Tensor', mask: 'Tensor')"),
    "an input by its name alone": (NamedInput, "cannot be called with a single input"),
    "no input": (NoInput, "cannot be called with a single input"),
    "a batch of two alone": (net(lambda self, x: self.head(x.view(2, 64))), "invalid for input of size 192"),
    "double precision inside": (net(lambda self, x: self.head(x.double())), "dtype"),
    "real samples alone fail": (net(lambda self, x: self.head(x if not x.any() else x[:, :3])), "in evaluation"),
    "training alone fails": (
        net(lambda self, x: self.head(x[:, :3] if self.training and x.any() else x)),
        "in training",
    ),
    # state and randomness
    "changes its input": (net(lambda self, x: self.head(x.mul_(0.5))), IN_PLACE),
    "changes its parameters": (net(lambda self, x: (self.head.weight.data.mul_(0.9), self.head(x))[1]), IN_PLACE),
    "changes a leaf": (net(lambda self, x: (self.head.weight.relu_(), self.head(x))[1]), "in-place operation"),
    "counts its calls": (net(counting, calls=lambda: 0), OTHER_OUTPUT),
    "remembers the last batch": (net(remembering, last=lambda: torch.zeros(1)), OTHER_OUTPUT),
    "numpy's randomness": (net(lambda self, x: self.head(x) * np.random.rand()), OTHER_OUTPUT),  # noqa: NPY002
    "Python's randomness": (net(lambda self, x: self.head(x) * random.random()), OTHER_OUTPUT),
    "torch's randomness": (net(lambda self, x: self.head(x + torch.randn_like(x))), "torch's global generator"),
    "dropout as a function": (net(lambda self, x: self.head(functional.dropout(x))), "torch's global generator"),
    "a norm over all batches": (lambda: flat(nn.BatchNorm1d(64, momentum=None), nn.Linear(64, 10)), "is not supported"),
    # parameters
    "complex parameters": (
        net(lambda self, x: self.head(x) + self.c.real, c=lambda: nn.Parameter(torch.ones(10) + 0j)),
        NOT_REAL,
    ),
    "whole numbers as parameters": (
        net(lambda self, x: self.head(x) + self.n, n=lambda: nn.Parameter(torch.ones(10).long(), requires_grad=False)),
        NOT_REAL,
    ),
    "a lazy layer": (lambda: flat(nn.LazyLinear(10)), "a lazy layer has no shape yet"),
    "parameters without values": (lambda: flat(nn.Linear(64, 10, device="meta")), "has no values (device meta)"),
    "a constant on another device": (
        net(lambda self, x: self.head(x) + self.k, k=lambda: torch.zeros(10, device="meta")),
        "device",
    ),
    # what is no module
    "a class": (lambda: Net, "not a torch module"),
    "a function": (lambda: functional.relu, "not a torch module"),
    "without super().__init__()": (Forgotten, "does not call super().__init__()"),
    "without forward": (NoForward, 'missing the required "forward" function'),
    "a script": (lambda: torch.jit.script(flat(nn.Linear(64, 10))), "TorchScript"),
    "a trace": (lambda: torch.jit.trace(flat(nn.Linear(64, 10)), torch.zeros(2, 1, 8, 8)), "TorchScript"),
    "in parallel": (lambda: nn.DataParallel(flat(nn.Linear(64, 10))), "distributes its batches"),
    "with a lock": (net(lambda self, x: self.head(x), lock=threading.Lock), "cannot be copied"),
    "division by zero": (net(lambda *_: 1 / 0), "ZeroDivisionError"),
    "ends the program": (net(exiting), "SystemExit"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG)
def test_refused_with_the_cause(name: str) -> None:
    make, cause = WRONG[name]
    with pytest.raises(SpecError) as caught:
        tiny(model=lambda shape, classes: wrap(make(), shape, classes))
    assert cause in str(caught.value)
    assert all(problem.path.startswith("model") for problem in caught.value.problems)


def test_the_table_is_long() -> None:
    assert len(WRONG) >= 30


RIGHT: dict[str, Callable[[], nn.Module]] = {
    "shared layers": lambda: (lambda one: flat(one, nn.ReLU(), one, nn.Linear(64, 10)))(nn.Linear(64, 64)),
    "a head for training alone": net(
        lambda self, x: self.head(x) + (self.aid(x) if self.training else 0), aid=lambda: nn.Linear(64, 10)
    ),
    "double outputs": net(lambda self, x: self.head(x).double()),
    "an optional second input": type(
        "Optional", (Net,), {"forward": lambda self, x, scale=1.0: self.head(x.flatten(1)) * scale}
    ),
    "a complex buffer": net(lambda self, x: self.head(x) * self.k.real, k=lambda: torch.ones(10) + 0j),
    "batch norm without memory": lambda: flat(nn.BatchNorm1d(64, track_running_stats=False), nn.Linear(64, 10)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_not_refused(name: str) -> None:
    assert isinstance(tiny(model=lambda shape, classes: wrap(RIGHT[name](), shape, classes)).model, FlatModel)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (((64.5,), 10), "wrap.shape"),
        ((64, 10), "wrap.shape"),
        (((1, 8, 8), 0), "wrap.classes"),
        (((1, 8, 8), 10, "everywhere"), "wrap.norms"),
        (((1, 8, 8), 10, "local", "pretrained"), "wrap.start"),
    ],
)
def test_wrong_arguments(arguments: Any, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        wrap(flat(nn.Linear(64, 10)), *arguments)
    assert [problem.path for problem in caught.value.problems] == [path]


def test_a_bare_module_is_no_model() -> None:
    with pytest.raises(SpecError, match=r"wrap\(module, stream.shape, stream.classes\)"):
        tiny(model=lambda *_: flat(nn.Linear(64, 10)))


FILE = """
from torch import nn
from fedradio import register, wrap

@register("model", "wrong")
def wrong(shape, classes, /):
    '''A model that is wrong.'''
    {body}
"""

BODIES: dict[str, tuple[str, str]] = {
    "raises": (
        "return wrap(nn.Linear(64, 'ten'), shape, classes)",
        "its factory failed in parts.py, line 8: TypeError",
    ),
    "refused": (
        "return wrap(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), shape, classes)",
        "logits of shape (2, 10)",
    ),
    "not wrapped": ("return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))", "a torch module must be wrapped first"),
    "returns nothing": ("wrap(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), shape, classes)", "returns nothing"),
}


@pytest.mark.parametrize("name", BODIES)
def test_from_a_file_of_parts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts()
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    monkeypatch.setattr(part_files, "_LOADED", {})
    body, cause = BODIES[name]
    (tmp_path / "parts.py").write_text(FILE.format(body=body))
    load_part_file(tmp_path / "parts.py")
    with pytest.raises(SpecError) as caught:
        build(check_spec({"model": "wrong", "topology": {"kind": "flat", "clients": 3}}))
    assert [problem.path for problem in caught.value.problems] == ["model"]
    assert cause in str(caught.value)
