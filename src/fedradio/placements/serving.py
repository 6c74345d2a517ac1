"""Serving the requests of a slot: hits and misses, which missed files stay, and the seconds of every delivery.

By hand: room for one file, file 0 of score .2 is held. File 1 of score .3 is asked for twice: a miss that replaces file
0, then a hit. Seconds at 1 s on the access link, 2 s on the backhaul and .5 s of core network: 1 + .5 + 2 of the miss,
1 of the hit. Two misses in one slot: 3.5 s and, after a wait of 2 s, 5.5 s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedradio.placements.placing import Bools, Floats

Ints = NDArray[np.int64]


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
