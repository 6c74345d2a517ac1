"""Accounting of an exchange: seconds, joules, bits and reasons. What a part does not define stays None."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Allocation, Exchange, ExchangeRecord, Note
from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.contracts.records import NOTHING
from fedradio.fleet.costs import compute_j, compute_s, transmit_j
from fedradio.rounds.clients import Measured
from fedradio.rounds.exchange import Outcome
from fedradio.rounds.planning import Planned


def receiver_times(planned: Planned, waits: str) -> Tensor | None:
    """Duration of the exchange at each receiver, in seconds ``[R]``.

    ``deadline``: it waits for the deadline. ``slowest``: for the last of its senders, but never beyond the deadline. A
    sender that stays silent is done when it is ready: at once on hop 0, after its own edge rounds further up.
    """
    x, done_s = planned.x, planned.airtime.done_s
    if waits == "deadline" and x.deadline_s is not None:
        return torch.full((x.receivers,), x.deadline_s, dtype=torch.float64)
    if done_s is None or x.ready_s is None:
        return None
    seconds = torch.where(x.alloc.active, done_s, x.ready_s).double()
    if x.deadline_s is not None:
        seconds = seconds.clamp(max=x.deadline_s)
    return torch.zeros(x.receivers, dtype=torch.float64).scatter_reduce_(0, x.parent, seconds, "amax")


def exchange_record(
    planned: Planned, outcome: Outcome, times: Tensor | None, norm_bits: float | None
) -> ExchangeRecord:
    """Record of an exchange; ``norm_bits`` are those of norm layers on their side channel."""
    x, airtime, delivery = planned.x, planned.airtime, outcome.delivery
    alloc, ids = x.alloc, x.alloc.active.nonzero().squeeze(1)
    notes = alloc.notes | planned.notes | (delivery.notes if delivery is not None else {}) | outcome.notes
    tx_j = torch.zeros(x.senders, dtype=torch.float64) if delivery is None else delivery.tx_j
    payloads = len(ids) if x.payloads is None else int(x.payloads[ids].sum())
    bits = None if x.payload_bits is None else x.payload_bits * payloads
    if bits is not None and outcome.bits is not None:
        bits = float(outcome.bits.clamp(max=x.payload_bits).sum())
    rest, idle = _idle_reasons(alloc)
    real = {} if outcome.measured is None else _beside(planned, outcome.measured, ids)
    return ExchangeRecord(
        t=x.clock.t,
        hop=x.hop,
        e=x.clock.e,
        ids=ids.tolist(),
        arrived=airtime.arrived[ids].tolist(),
        why=[REASON_NAMES[number] for number in airtime.reason[ids].tolist()],
        steps=alloc.steps[ids].tolist(),
        cpu_hz=_of_active(alloc.cpu_hz, ids),
        power_w=_of_active(alloc.power_w, ids),
        seconds=_of_active(airtime.done_s, ids),
        compute_j=_of_active(_computing_j(x), ids),
        tx_j=_of_active(_with_circuit(x, airtime, tx_j), ids),
        rest=rest,
        idle=idle,
        bits=bits if norm_bits is None else (bits or 0.0) + norm_bits,
        uses=None if airtime.uses is None else airtime.uses * bool(airtime.arrived.any()),
        time_s=None if times is None else times.tolist(),
        effective=outcome.effective,
        now_s=x.clock.now_s,
        notes={name: Note(note.axis, note.values.tolist(), note.rest) for name, note in notes.items()},
        **real,
    )


def _beside(planned: Planned, measured: Measured, ids: Tensor) -> dict[str, Any]:
    """Planned seconds and joules of the active senders beside the measurements of real devices; None: there is none."""

    def known(values: Tensor) -> list[float | None]:
        return [value if math.isfinite(value) else None for value in values.double().tolist()]

    return {
        "planned_s": _of_active(planned.airtime.done_s, ids),
        "planned_j": _of_active(planned_j(planned), ids),
        "measured_s": known(measured.seconds),
        "train_s": known(measured.train_s),
        "wire_bits": known(measured.wire_bits),
    }


def _idle_reasons(alloc: Allocation) -> tuple[str, dict[str, list[int]]]:
    """The commonest reason of the idle, and the idle senders of every other reason; no list of all senders is made."""
    beyond = max(REASON_NAMES) + 1
    counts = torch.bincount(torch.where(alloc.active, beyond, alloc.reason))[:beyond]
    if not bool(counts.any()):
        return NOTHING, {}
    rest = int(counts.argmax())
    others = [number for number in counts.nonzero().flatten().tolist() if number != rest]
    idle = {number: (~alloc.active & (alloc.reason == number)).nonzero().flatten().tolist() for number in others}
    return REASON_NAMES[rest], {REASON_NAMES[number]: senders for number, senders in idle.items()}


def planned_j(planned: Planned) -> Tensor | None:
    """Planned energy ``[S]`` of computing and sending; None without a fleet, or where it depends on the payload."""
    x, tx_s = planned.x, planned.airtime.tx_s
    computing = _computing_j(x)
    if computing is None or tx_s is None or x.alloc.power_w is None or x.fleet is None:
        return None
    return torch.where(x.alloc.active, computing + transmit_j(x.fleet, x.alloc.power_w, tx_s), 0.0)


def _computing_j(x: Exchange) -> Tensor | None:
    """Energy of local training ``[S]``; None without a fleet.

    A client that would compute beyond the deadline has made ``f T`` cycles by then, unless late clients finish.
    """
    if x.fleet is None or x.cycles_per_step is None or x.alloc.cpu_hz is None:
        return None
    cycles = x.cycles_per_step * x.alloc.steps
    if x.late == "stop" and x.deadline_s is not None:
        late = compute_s(cycles, x.alloc.cpu_hz) > x.deadline_s
        cycles = torch.where(late, x.alloc.cpu_hz * x.deadline_s, cycles)
    return compute_j(x.fleet, cycles, x.alloc.cpu_hz)


def _with_circuit(x: Exchange, airtime: Airtime, tx_j: Tensor | None) -> Tensor | None:
    """Transmit energy ``[S]`` with the device's circuit power while on the air, which the link does not know."""
    if tx_j is None or x.fleet is None or airtime.tx_s is None:
        return tx_j
    return tx_j + x.fleet.circuit_w * airtime.tx_s


def _of_active(values: Tensor | None, ids: Tensor) -> list[float] | None:
    """A per-sender quantity ``[S]`` of the active senders, as a list."""
    if values is None:
        return None
    numbers: list[float] = values[ids].double().tolist()
    return numbers


def total_of(values: list[float] | None) -> float | None:
    return None if values is None else sum(values, 0.0)
