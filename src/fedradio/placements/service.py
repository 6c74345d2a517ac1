"""One cache in one slot: which files it holds, by the scores of its placement, and how it serves requests.

Placing: ``A = argmax sum_{n in A} v_n - m |A minus held|``, at most ``capacity`` files. A held file is worth ``v``,
another one ``v - m``: the largest of these values that are positive or held are the exact answer. By hand: scores .5 .4
.3, file 2 held, one place. Moving file 0 ahead is worth .5 - m against .3: at m = .1 it comes, at m = .3 file 2 stays.

Serving, by hand: room for one file, file 0 of score .2 is held. File 1 of score .3 is asked for twice: a miss that
replaces file 0, then a hit. Seconds at 1 s on the access link, 2 s on the backhaul and .5 s of core network:
1 + .5 + 2 of the miss, 1 of the hit. Two misses in one slot: 3.5 s and, after a wait of 2 s, 5.5 s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import CacheView, Placement
from fedradio.core.errors import Problem, SpecError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


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


def placed(score: Floats, held: Bools, capacity: int, move_cost: float | None) -> Bools:
    """Files ``[N]`` that an edge holds after placing, from its scores ``[N]`` and those that it held.

    Of equal values held files come first, then the lower number; held files stay where there is room. None for
    ``move_cost``: nothing is prefetched.
    """
    if move_cost is None:
        return held
    value = np.where(held, score, score - move_cost)
    candidates = np.flatnonzero(held | (value > 0))
    order = np.lexsort((candidates, ~held[candidates], -value[candidates]))
    after = np.zeros_like(held)
    after[candidates[order[:capacity]]] = True
    return after


def serve(held: Bools, value: Floats, capacity: int, edge: Ints, file: Ints, stamp: Ints | None = None) -> Bools:
    """Hits ``[n]`` of requests in their order, each for a ``file [n]`` at an ``edge [n]``; ``held [R, N]`` is updated.

    A missed file passes the edge anyway. It is kept where there is room, or where its ``value [R, N]`` exceeds the
    lowest held one, which leaves; of equals the lower number leaves. With ``stamp [n]``, rising numbers, a file's value
    becomes that of its last request, and ``value`` is updated too: the least recently requested file leaves.
    """
    hit = np.zeros(len(file), np.bool_)
    for i, (b, n) in enumerate(zip(edge.tolist(), file.tolist(), strict=True)):
        if stamp is not None:
            value[b, n] = stamp[i]
        hit[i] = held[b, n]
        if not hit[i]:
            _keep(held[b], value[b], capacity, n)
    return hit


def _keep(held: Bools, value: Floats, capacity: int, file: int) -> None:
    """Keep a missed file of an edge ``[N]``, if it is worth its place."""
    kept = np.flatnonzero(held)
    if len(kept) < capacity:
        held[file] = True
        return
    lowest = kept[value[kept].argmin()]
    if value[file] > value[lowest]:
        held[lowest], held[file] = False, True


def delivery_s(hit: Bools, edge: Ints, bits: Floats, access_bps: float, backhaul_bps: float, core_s: float) -> Floats:
    """Seconds ``[n]`` until each request of a slot, for a file of ``bits [n]``, is delivered.

    ``L/access_bps``, and of a miss ``core_s + wait + L/backhaul_bps`` more: the misses of an edge queue for its
    backhaul in their order.
    """
    transfer = np.where(hit, 0.0, bits / backhaul_bps)
    behind = np.zeros_like(transfer)
    for b in np.unique(edge):
        here = np.flatnonzero(edge == b)
        behind[here] = np.cumsum(transfer[here])  # all before it and its own
    return np.asarray(bits / access_bps + np.where(hit, 0.0, core_s + behind))
