"""Accounting of an exchange: seconds, joules, bits and reasons. What a part does not define stays None."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Allocation, Delivery, ExchangeRecord, Hop, Slots
from fedradio.core.params import group_sum
from fedradio.fleet.costs import compute_j, transmit_j
from fedradio.rounds.exchange import Planned


def receiver_times(hop: Hop, waits: str, planned: Planned, parent: Tensor, receivers: int) -> Tensor | None:
    """Duration of the exchange at each receiver, in seconds ``[R]``.

    ``deadline``: it waits for the deadline. ``slowest``: for the last of its senders, but never beyond the deadline. A
    sender that stays silent is done when it is ready: at once on hop 0, after its own edge rounds further up.
    """
    if waits == "deadline" and hop.deadline_s is not None:
        return torch.full((receivers,), hop.deadline_s, dtype=torch.float64)
    if planned.airtime.done_s is None or planned.ready_s is None:
        return None
    seconds = torch.where(planned.alloc.active, planned.airtime.done_s, planned.ready_s).double()
    if hop.deadline_s is not None:
        seconds = seconds.clamp(max=hop.deadline_s)
    return torch.zeros(receivers, dtype=torch.float64).scatter_reduce_(0, parent, seconds, "amax")


def effective_clients(weight: Tensor, group: Tensor, receivers: int) -> list[float]:
    """Effective number of senders of each receiver, ``(sum w)^2 / sum w^2``; 0 without any."""
    total = group_sum(weight.double(), group, receivers) ** 2
    squares = group_sum(weight.double() ** 2, group, receivers)
    return torch.where(squares > 0, total / squares.clamp(min=1e-300), 0.0).tolist()


def exchange_record(
    h: int,
    hop: Hop,
    planned: Planned,
    delivery: Delivery | None,
    times: Tensor | None,
    effective: list[float],
    published: Slots,
) -> ExchangeRecord:
    """Record of an exchange. ``delivery`` is None if nobody sent; ``published`` are further notes, of the algorithm."""
    alloc, airtime = planned.alloc, planned.airtime
    payload_bits = hop.link.bits(planned.values)
    notes = alloc.notes | planned.notes | (delivery.notes if delivery is not None else {}) | published
    tx_j = torch.zeros(len(alloc.active), dtype=torch.float64) if delivery is None else delivery.tx_j
    return ExchangeRecord(
        t=planned.clock.t,
        hop=h,
        e=planned.clock.e,
        active=alloc.active.tolist(),
        arrived=airtime.arrived.tolist(),
        reason=torch.where(alloc.active, airtime.reason, alloc.reason).tolist(),
        steps=alloc.steps.tolist(),
        cpu_hz=_of_active(alloc.cpu_hz, alloc),
        power_w=_of_active(alloc.power_w, alloc),
        seconds=_of_active(airtime.done_s, alloc),
        compute_j=_of_active(_computing_j(hop, planned), alloc),
        tx_j=_of_active(_with_circuit(hop, airtime, tx_j), alloc),
        bits=None if payload_bits is None else payload_bits * int(alloc.active.sum()),
        uses=None if airtime.uses is None else airtime.uses * bool(airtime.arrived.any()),
        time_s=None if times is None else times.tolist(),
        effective=effective,
        notes={name: values.tolist() for name, values in notes.items()},
    )


def planned_j(hop: Hop, planned: Planned) -> Tensor | None:
    """Planned energy ``[S]`` of computing and sending; None without a fleet, or where it depends on the payload."""
    computing = _computing_j(hop, planned)
    if computing is None or planned.airtime.tx_s is None or planned.alloc.power_w is None or hop.fleet is None:
        return None
    return torch.where(
        planned.alloc.active, computing + transmit_j(hop.fleet, planned.alloc.power_w, planned.airtime.tx_s), 0.0
    )


def _computing_j(hop: Hop, planned: Planned) -> Tensor | None:
    """Energy of local training ``[S]``; None without a fleet."""
    alloc = planned.alloc
    if hop.fleet is None or planned.cycles is None or alloc.cpu_hz is None:
        return None
    return compute_j(hop.fleet, planned.cycles * alloc.steps, alloc.cpu_hz)


def _with_circuit(hop: Hop, airtime: Airtime, tx_j: Tensor | None) -> Tensor | None:
    """Transmit energy ``[S]`` with the device's circuit power while on the air, which the link does not know."""
    if tx_j is None or hop.fleet is None or airtime.tx_s is None:
        return tx_j
    return tx_j + hop.fleet.circuit_w * airtime.tx_s


def _of_active(values: Tensor | None, alloc: Allocation) -> list[float] | None:
    """A per-sender quantity as a list, 0 for inactive senders."""
    if values is None:
        return None
    numbers: list[float] = torch.where(alloc.active, values.double(), 0.0).tolist()
    return numbers


def total_of(values: list[float] | None) -> float | None:
    return None if values is None else sum(values)
