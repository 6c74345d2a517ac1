"""Caches that cannot be served are refused with path, reason and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
from support.worlds import requesting, tiny
from torch import Tensor

from fedradio.algorithms.fedavg import central
from fedradio.core.contracts import Cache, CacheView, Placement
from fedradio.core.errors import SpecError
from fedradio.data.growing import growing
from fedradio.data.streams import static
from fedradio.placements.kinds import Predicted, cell_popular, lru, predicted

LRU = Cache((lru(),))


@dataclass(frozen=True)
class Turned(Placement):
    """Scores with files and edges exchanged."""

    @property
    def name(self) -> str:
        return "turned"

    def scores(self, view: CacheView) -> Tensor:
        return view.counts.T


def problems(make: Any, **world: Any) -> dict[str, str]:
    """Reasons of all refusals by path."""
    with pytest.raises(SpecError) as caught:
        make(**world)
    return {problem.path: problem.reason for problem in caught.value.problems}


def test_data_without_requests() -> None:
    assert problems(tiny, cache=LRU) == {"cache": "this source has no requests"}
    assert "no requests are made" in problems(requesting, stream=static, cache=LRU)["cache"]
    for keywords in ({"slots": 0}, {"activity": (0.0, 0.0)}):
        idle = partial(growing, history=5, **keywords)  # type: ignore[arg-type]
        assert "no requests are made" in problems(requesting, stream=idle, cache=LRU)["cache"]
    assert problems(requesting, algorithm=central(), cache=LRU) == {"cache": "central training has no edges"}


def test_sizes() -> None:
    for capacity in ((13,), (0,), ()):
        found = problems(requesting, cache=Cache((lru(),), capacity))
        assert found == {"cache.capacity": "the catalogue has 12 files"}
    assert problems(requesting, cache=Cache((lru(),), (4, 4))) == {"cache.capacity": "a capacity is listed twice"}
    for sizes in (torch.ones(3), torch.zeros(12), -1.0):
        assert "cache.file_bits" in problems(requesting, cache=Cache((lru(),), file_bits=sizes))


def test_nobody_tells_more_files_than_there_are() -> None:
    for top in (0, 13):
        found = problems(requesting, cache=Cache((lru(),), sharing="top", top=top))
        assert found == {"cache.top": "the catalogue has 12 files"}
    requesting(cache=Cache((lru(),), sharing="top", top=12))
    requesting(cache=Cache((lru(),), top=13))  # nobody is told


def test_names() -> None:
    twice = problems(requesting, cache=Cache((predicted(), lru(), predicted(blend=0.5))))
    assert twice.keys() == {"cache.placements.0", "cache.placements.2"}
    requesting(cache=Cache((predicted(), lru(), predicted(blend=0.5, name="mixed"))))
    assert problems(requesting, cache=Cache((lru(name="a b"),))) == {"cache.placements.0.name": "not a valid name"}
    assert "cache.placements" in problems(requesting, cache=Cache(()))


def test_placements_of_ones_own_are_tried_before_the_run() -> None:
    assert "(12, 2)" in problems(requesting, cache=Cache((cell_popular(), Turned())))["cache.placements.1"]
    assert "cache.placements.0.move_cost" in problems(requesting, cache=Cache((Predicted(move_cost=-0.1),)))
