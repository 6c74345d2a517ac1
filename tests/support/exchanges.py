"""Exchanges made by hand: who stands where and sends to whom, what was decided, what is sent."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Allocation,
    Channel,
    ChannelState,
    Clock,
    Exchange,
    Fleet,
    Link,
    Message,
    Sent,
    Site,
    Slots,
    Topology,
)
from fedradio.core.rng import Rng
from fedradio.links.ideal import ideal


def realised(channel: Channel, site: Topology | Site, rng: Rng | None = None, hop: int = 0) -> ChannelState:
    """The channel in its first exchange: of a hop of a topology, or of nodes that stand somewhere by hand."""
    if isinstance(site, Topology):
        site = site.site(hop, Clock(0))
    rng = rng or Rng(0)
    begun = channel.start(len(site.senders_m), len(site.receivers_m), rng)
    state, _ = channel.realise(site, begun, rng)
    return state


def site(receivers_m: Tensor, senders_m: Tensor, clock: Clock | None = None) -> Site:
    """Nodes that stand somewhere, all senders of receiver 0."""
    return Site(receivers_m, senders_m, torch.zeros(len(senders_m), dtype=torch.long), clock or Clock(0))


def everyone(
    senders: int,
    *,
    active: Sequence[bool] | None = None,
    power_w: float | None = None,
    amplitude: Tensor | None = None,
) -> Allocation:
    """All senders, or the ``active`` ones, with one local step each; at the same power where there is one."""
    return Allocation(
        active=torch.tensor(active or [True] * senders),
        steps=torch.ones(senders, dtype=torch.long),
        cpu_hz=None,
        power_w=None if power_w is None else torch.full((senders,), power_w, dtype=torch.float64),
        reason=torch.zeros(senders, dtype=torch.long),
        amplitude=amplitude,
    )


def exchange(
    parent: Tensor | Sequence[int] = (0,),
    *,
    alloc: Allocation | None = None,
    ready_s: Tensor | Sequence[float] | None = None,
    receivers: int | None = None,
    channel: ChannelState | None = None,
    link: Link | None = None,
    fleet: Fleet | None = None,
    cycles_per_step: Tensor | None = None,
    message: Message | int = 1,
    deadline_s: float | None = None,
    signals: Slots | None = None,
    unable: Tensor | None = None,
    clock: Clock | None = None,
    hop: int = 0,
) -> Exchange:
    """An exchange of the senders whose receivers are ``parent``, and the view of its policy.

    Without more said: everybody takes part on an ideal link, in round 0, and sends one number. A number as ``message``
    is one block of so many.
    """
    to = torch.as_tensor(parent)
    if channel is not None and receivers is None:
        receivers = len(channel.gain)
    return Exchange(
        clock=clock or Clock(0),
        hop=hop,
        parent=to,
        receivers=int(to.max()) + 1 if receivers is None else receivers,
        channel=channel,
        link=link or ideal(),
        fleet=fleet,
        cycles_per_step=cycles_per_step,
        message=Message(1, message) if isinstance(message, int) else message,
        deadline_s=deadline_s,
        signals=signals or {},
        unable=unable,
        alloc=alloc or everyone(len(to)),
        ready_s=None if ready_s is None else torch.as_tensor(ready_s, dtype=torch.float64),
    )


def sent(x: Exchange, payload: Tensor, weight: Tensor | None = None) -> Sent:
    """``payload [A, k, d]`` of the active senders, of weight 1 without more said."""
    ids = x.alloc.active.nonzero().squeeze(1)
    return Sent(ids, x.parent[ids], payload, torch.ones(len(ids)).double() if weight is None else weight)
