"""Scores of a placement, checked, from a copy of what it may see: a placement may be anybody's."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from fedradio.core.contracts import CacheView, Placement
from fedradio.core.errors import Problem, SpecError


def scores_of(placement: Placement, view: CacheView, files: int) -> Tensor:
    """Scores ``[R, N]`` of a placement, which draws from a generator of its own by its name; wrong ones are refused."""
    scores = placement.scores(_own(placement, view))
    wanted = (view.receivers, files)
    if not isinstance(scores, Tensor) or tuple(scores.shape) != wanted:
        given = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        reason = f"the scores of {placement.name} are {given}, but must be {wanted}: edges, files"
        raise SpecError(Problem("cache.placements", reason, "return one number per file for every edge"))
    if not bool((scores >= 0).all() & scores.isfinite().all()):
        reason = f"the scores of {placement.name} must all be finite and at least 0"
        raise SpecError(Problem("cache.placements", reason, "return the expected requests of the next slot"))
    return scores.detach().double()


def _own(placement: Placement, view: CacheView) -> CacheView:
    """The view with numbers that belong to the placement: changing them changes nobody else's."""
    names = ("parent", "rate", "activity", "counts", "used", "recent")
    copies = {name: getattr(view, name).clone() for name in names}
    return replace(view, **copies, rng=view.rng.child(placement.name))
