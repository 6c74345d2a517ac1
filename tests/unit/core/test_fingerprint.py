"""Descriptions of arbitrary objects: equal for equal values, different for every other value."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedradio.core.fingerprint import DEEPEST, LONGEST, Describer, checksum_of
from fedradio.core.rng import Rng


@dataclass(frozen=True)
class Rate:
    lr: float
    table: Tensor
    seen: int = field(default=0, compare=False)


class Plain:
    def __init__(self, size: int) -> None:
        self.size = size
        self._hidden = size + 1


class Slotted:
    __slots__ = ("kind", "size")

    def __init__(self, size: int) -> None:
        self.size, self.kind = size, "a kind"


def plain(value: Any) -> Any:
    found = Describer().plain(value, "it")
    json.dumps(found, allow_nan=False)
    return found


def scaled(factor: float) -> Callable[[float], float]:
    return lambda x: factor * x


PAIRS: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: 1, lambda: 2),
    (lambda: 1.0, lambda: float("nan")),
    (lambda: "a" * 500, lambda: "a" * 499 + "b"),
    (lambda: torch.tensor([1.0, 2.0]), lambda: torch.tensor([1.0, 2.5])),
    (lambda: torch.tensor([1.0, 2.0]), lambda: torch.tensor([1.0, 2.0], dtype=torch.float64)),
    (lambda: torch.zeros(2, 3), lambda: torch.zeros(3, 2)),
    (lambda: torch.zeros(0), lambda: torch.zeros(0, 2)),
    (lambda: np.arange(3), lambda: np.arange(1, 4)),
    (lambda: np.float32(0.5), lambda: np.float32(0.25)),
    (lambda: np.array(["a", None], dtype=object), lambda: np.array(["b", None], dtype=object)),
    (lambda: list(range(LONGEST + 1)), lambda: [*range(LONGEST), 0]),
    (lambda: {str(i): i for i in range(LONGEST + 1)}, lambda: {str(i): i + 1 for i in range(LONGEST + 1)}),
    (lambda: {3, 1, 2}, lambda: {3, 1, 4}),
    (lambda: b"one", lambda: b"two"),
    (lambda: Path("a"), lambda: Path("b")),
    (lambda: Rng(1).child("a"), lambda: Rng(1).child("b")),
    (lambda: Rate(0.1, torch.ones(2)), lambda: Rate(0.1, torch.zeros(2))),
    (lambda: Plain(3), lambda: Plain(4)),
    (lambda: Slotted(3), lambda: Slotted(4)),
    (lambda: scaled(2.0), lambda: scaled(3.0)),
    (lambda: partial(scaled, 2.0), lambda: partial(scaled, 3.0)),
    (lambda: Rng(1).child, lambda: Rng(2).child),
    (lambda: Plain, lambda: Slotted),
    (lambda: torch.float32, lambda: torch.float64),
    (lambda: nn.Linear(2, 2, bias=False), lambda: nn.Linear(2, 3, bias=False)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_equal_values_and_others(one: Callable[[], Any], other: Callable[[], Any]) -> None:
    if not isinstance(one(), nn.Module):  # which torch fills at random
        assert plain(one()) == plain(one())
    assert plain(one()) != plain(other())


def test_readable_as_it_is() -> None:
    assert plain(Rate(0.1, torch.ones(2), seen=5)).keys() == {"kind", "source", "lr", "table"}  # no cache
    assert plain((1, 2.5, "x", None, True)) == [1, 2.5, "x", None, True]
    assert plain(Rng(7, ("world",))) == {"kind": "Rng", "seed": 7, "path": ["world"], "run_seed": None}
    assert plain(Slotted(3))["kind_"] == "a kind"
    assert plain(nn.functional.relu) == "relu"


def test_texts_of_the_users_own_classes_are_kept() -> None:
    describer = Describer()
    describer.plain([Plain(1), scaled(2.0), nn.ReLU()])
    assert describer.sources.keys() == {"Plain", "scaled.<locals>.<lambda>"}
    assert "self._hidden = size + 1" in (describer.sources["Plain"] or "")
    made = type("Made", (), {"__module__": "__prompt__"})
    describer.plain(made())
    assert describer.sources["Made"] is None


@pytest.mark.parametrize("made", [random.Random(1), np.random.default_rng(1), torch.Generator(), iter([1])])
def test_what_remembers_is_told(made: object) -> None:
    describer = Describer()
    describer.part({"a": {"b": made}}, "algorithm")
    assert describer.stateful == ["algorithm.a.b"]


def test_circles_and_depth_end() -> None:
    one = Plain(1)
    one.other = one  # type: ignore[attr-defined]
    assert plain(one)["other"] == {"kind": "Plain", "again": True}
    deep: Any = 1
    for _ in range(DEEPEST + 10):
        deep = [deep]
    assert json.dumps(plain(deep)).count("[") == DEEPEST
    other: Any = 2
    for _ in range(DEEPEST + 10):
        other = [other]
    assert plain(deep) != plain(other)


def test_a_part_has_a_kind() -> None:
    assert Describer().part(3, "x") == {"kind": "int", "is": 3}
    assert Describer().part(Rng(1), "x")["kind"] == "Rng"


def test_checksum_of_tensors() -> None:
    assert checksum_of([torch.ones(2)]) == checksum_of([torch.ones(2)])
    assert checksum_of([torch.ones(2)]) != checksum_of([torch.ones(1), torch.ones(1)])
