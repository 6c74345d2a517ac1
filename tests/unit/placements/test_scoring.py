"""Scores of a placement are checked, and drawn from a generator of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from support.caches import view_of
from torch import Tensor

from fedradio.core.contracts import CacheView, Placement
from fedradio.core.errors import SpecError
from fedradio.placements.kinds import random
from fedradio.placements.service import scores_of


@dataclass(frozen=True)
class Given(Placement):
    """A placement with these scores."""

    given: Tensor

    @property
    def name(self) -> str:
        return "mine"

    def scores(self, view: CacheView) -> Tensor:
        return self.given


def test_wrong_scores_are_refused_with_their_shape() -> None:
    assert scores_of(Given(torch.ones(2, 3)), view_of(), 3).dtype == torch.float64
    with pytest.raises(SpecError, match=r"scores of mine are \(3, 2\), but must be \(2, 3\)"):
        scores_of(Given(torch.ones(3, 2)), view_of(), 3)
    with pytest.raises(SpecError, match="scores of mine are list"):
        scores_of(Given([1.0]), view_of(), 3)  # type: ignore[arg-type]
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(SpecError, match="must all be finite"):
            scores_of(Given(torch.full((2, 3), wrong)), view_of(), 3)


def test_draws_depend_on_the_name_alone() -> None:
    one, same, other = (scores_of(random(name=name), view_of(), 3) for name in ("a", "a", "b"))
    assert one.equal(same)
    assert not one.equal(other)


@dataclass(frozen=True)
class Careless(Placement):
    """A placement that changes what it is shown, in place."""

    @property
    def name(self) -> str:
        return "careless"

    def scores(self, view: CacheView) -> Tensor:
        scores = view.counts.double().requires_grad_()
        for tensor in (view.parent, view.rate, view.activity, view.counts, view.used, view.recent):
            tensor.fill_(1)
        return scores


def test_a_placement_changes_nothing_but_its_own_copy() -> None:
    view, same = view_of(recent=((0, 2), (2, 2))), view_of(recent=((0, 2), (2, 2)))
    assert not scores_of(Careless(), view, 3).requires_grad
    for name in ("parent", "rate", "activity", "counts", "used", "recent"):
        assert getattr(view, name).equal(getattr(same, name)), name
