"""Contracts of caches at the receivers of hop 0: which files an edge keeps, what a placement may see, what is counted.

``N`` files, ``R`` edges (the receivers of hop 0), ``C`` clients. A slot is a chance of a request; caches are placed
before slots and serve the requests of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from fedradio.core.params import group_sum
from fedradio.core.rng import Rng

Foresight = Literal["model", "law"]
"""What the clients' next requests are foreseen by: the model that is learnt, or the true law."""

Every = Literal["slot", "edge_round", "round"]
"""When caches are placed again."""

Sharing = Literal["summed", "top", "plain"]
"""What clients tell their edge: the cell's sum alone, each its few likeliest files, or each all of its forecast."""

ACCESS_CONTROL_BITS = 1152
"""Control bits of a request under the privacy protocol between client and edge: 144 octets, message 2."""

BACKHAUL_CONTROL_BITS = 3808
"""Control bits of a request under the privacy protocol behind the edge: 476 octets, messages 3, 4, 6 and 7."""

CHARGING_BITS = 192
"""Bits on the backhaul by which a request is charged: 24 octets, the base station's report of what it delivered."""

FETCH_BITS = 1312
"""Control bits on the backhaul of a file that an edge fetches, missed or prefetched: 164 octets, steps 9b and 9c."""

TOP = 4
"""Likeliest files that a client tells its edge with ``sharing: top``, unless said otherwise."""

REPORTED_BITS = 32
"""Bits of a number that a client reports of a file, in a sum or plain."""

TAGGED_BITS = 144
"""Bits of one of the likeliest files in a report: a tag of 16 octets and a share of 16 bits."""


@dataclass(frozen=True)
class CacheView:
    """What a placement may see before a slot.

    ``parent [C]`` is each client's edge, of ``receivers``; ``rate [C]`` each client's own estimate of its requests a
    slot, 0 where it has nothing to ask for. ``counts [R, N]`` are the requests of every edge so far, ``used [R, N]``
    the number of the last one (-1: never), ``recent [R, W]`` the last requests, the newest last (-1: none yet).
    ``activity [C]`` are the true probabilities of a request, for yardsticks.
    """

    parent: Tensor
    receivers: int
    rate: Tensor
    activity: Tensor
    counts: Tensor
    used: Tensor
    recent: Tensor
    foresee: Callable[[Foresight], Tensor]
    rng: Rng

    def forecast(self, by: Foresight) -> Tensor:
        """Probabilities ``[C, N]`` of every client's next request; rows of 0 at the end of a tape."""
        return self.foresee(by)

    def demand(self, by: Foresight, rate: Tensor | None = None) -> Tensor:
        """Expected requests of every edge in the slot, ``sum_{c in b} p_c P_c(n)``, ``[R, N]``; ``p`` is ``rate``."""
        p = self.rate if rate is None else rate
        return group_sum(p[:, None] * self.forecast(by), self.parent, self.receivers)

    def counted(self, window: int | None = None) -> Tensor:
        """Requests ``[R, N]`` of every edge so far, or of its last ``window``."""
        if window is None:
            return self.counts
        last = self.recent[:, max(self.recent.shape[1] - window, 0) :]
        padded = self.counts.new_zeros(self.receivers, self.counts.shape[1] + 1)
        return padded.scatter_add_(1, last + 1, torch.ones_like(last, dtype=padded.dtype))[:, 1:]

    @property
    def edge_rate(self) -> Tensor:
        """Expected requests of every edge in the slot, ``[R]``."""
        return group_sum(self.rate, self.parent, self.receivers)


class Placement(Protocol):
    """A rule for which files an edge keeps; parts subclass it. It has no state and draws from the view's ``rng``.

    Files are held and moved by their scores. ``move_cost`` is the price of moving a file ahead, in requests that would
    be missed; None: nothing is prefetched, an edge keeps what passes it. With ``recency`` an edge keeps every file
    that passes, and the one that was requested least recently leaves; scores are not asked for.

    Example:

        >>> import torch
        >>> from fedradio import CacheView, Placement, Rng
        >>> class Counted(Placement):
        ...     name = "counted"
        ...     def scores(self, view):
        ...         return view.counts.double()
        >>> clients = {"parent": torch.tensor([0]), "rate": torch.ones(1), "activity": torch.ones(1)}
        >>> asked = {"counts": torch.tensor([[3, 1]]), "used": torch.tensor([[4, 2]]), "recent": torch.zeros(1, 0)}
        >>> view = CacheView(receivers=1, foresee=None, rng=Rng(0), **clients, **asked)
        >>> Counted().scores(view)
        tensor([[3., 1.]], dtype=torch.float64)
    """

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> frozenset[Foresight]:
        """What forecasts it asks for. Whoever needs the model bears the bits of learning."""
        return frozenset()

    @property
    def move_cost(self) -> float | None:
        return None

    @property
    def recency(self) -> bool:
        return False

    @property
    def window(self) -> int:
        """How many of an edge's last requests it looks at; 0: none of them one by one."""
        return 0

    def scores(self, view: CacheView) -> Tensor:
        """Expected requests ``[R, N]`` of every file in the next slot, float64, none negative."""
        ...


@dataclass(frozen=True)
class Cache:
    """Caches of the edges: ``capacity`` files each, one or several side by side, under every placement.

    ``file_bits`` is the size of a file, or ``[N]`` that of each. Seconds of a request: ``L/access_bps``, and of a miss
    ``core_s + L/backhaul_bps`` more, in a queue. ``sharing``: what clients tell their edge; ``top``: how many of their
    likeliest files. ``protocol``: count the control bits of the privacy protocol.
    """

    placements: tuple[Placement, ...]
    capacity: tuple[int, ...] = (8,)
    every: Every = "slot"
    file_bits: float | Tensor = 200e6
    access_bps: float = 100e6
    backhaul_bps: float = 1e9
    core_s: float = 0.02
    sharing: Sharing = "summed"
    top: int = TOP
    protocol: bool = False

    def shelves(self) -> Iterator[tuple[str, int, int]]:
        """Label, placement (its number) and capacity of everything that is served side by side."""
        for p, placement in enumerate(self.placements):
            for capacity in self.capacity:
                yield self.label(placement.name, capacity), p, capacity

    def label(self, name: str, capacity: int) -> str:
        """Name of a placement in the records, with its capacity where there are several."""
        return name if len(self.capacity) == 1 else f"{name} {capacity}"

    @property
    def window(self) -> int:
        """How many of an edge's last requests are kept."""
        return max(placement.window for placement in self.placements)

    def sizes(self, files: int) -> Tensor:
        """Bits ``[N]`` of every file."""
        return torch.as_tensor(self.file_bits, dtype=torch.float64).expand(files)

    @property
    def one_size(self) -> float | None:
        """Bits of a file where all are equal."""
        sizes = torch.as_tensor(self.file_bits, dtype=torch.float64).flatten()
        return float(sizes[0]) if bool((sizes == sizes[0]).all()) else None

    def report_bits(self, files: int) -> int:
        """Bits of one client's report for one placement that needs the model."""
        return TAGGED_BITS * self.top if self.sharing == "top" else REPORTED_BITS * files
