"""Accounting of an exchange: seconds, joules, bits and reasons. What a part does not define stays None."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import (
    BITS,
    SUPERPOSITION,
    Airtime,
    Allocation,
    Exchange,
    ExchangeRecord,
    Measured,
    Note,
    Updates,
)
from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.contracts.records import NOTHING
from fedradio.fleet.costs import compute_j, compute_s, transmit_j, wait_j
from fedradio.rounds.merge import MergeResult
from fedradio.rounds.norm_layers import norm_bits
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation


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
    sim: Simulation, planned: Planned, updates: Updates, merged: MergeResult, times: Tensor | None
) -> ExchangeRecord:
    """Record of an exchange, made once from what its verbs returned: of those who took part in it, with what they sent
    (``updates``), even where it is merged later.
    """
    x, airtime, delivery = planned.x, planned.airtime, merged.delivery
    alloc, ids = x.alloc, updates.ids
    notes = alloc.notes | planned.notes | (delivery.notes if delivery is not None else {})
    notes |= updates.notes | merged.notes
    tx_j = torch.zeros(x.senders, dtype=torch.float64) if delivery is None else delivery.tx_j
    rest, idle = _idle_reasons(alloc)
    real = {} if updates.measured is None else _beside(planned, updates.measured, ids)
    energy = _energy(x, airtime, tx_j, times)
    return ExchangeRecord(
        t=x.clock.t,
        hop=x.hop,
        e=x.clock.e,
        ids=ids.tolist(),
        arrived=updates.arrived.tolist(),
        why=[REASON_NAMES[number] for number in updates.reason.tolist()],
        steps=alloc.steps[ids].tolist(),
        cpu_hz=_of_active(alloc.cpu_hz, ids),
        power_w=_of_active(alloc.power_w, ids),
        seconds=_of_active(airtime.done_s, ids),
        compute_j=_of_active(energy.compute_j, ids),
        tx_j=_of_active(energy.tx_j, ids),
        wait_j=_of_active(energy.wait_j, ids),
        rest=rest,
        idle=idle,
        bits=_bits(sim, planned, updates),
        uses=None if airtime.uses is None else airtime.uses * bool(updates.arrived.any()),
        time_s=None if times is None else times.tolist(),
        effective=merged.effective,
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


def _bits(sim: Simulation, planned: Planned, updates: Updates) -> float | None:
    """Bits on the link of all senders, with those of norm layers on their side channel; a node that forwards sends the
    payloads of all its clients."""
    x, ids = planned.x, updates.ids
    payloads = len(ids) if x.payloads is None else int(x.payloads[ids].sum())
    bits = None if x.payload_bits is None else x.payload_bits * payloads
    if x.payload_bits is not None and BITS in updates.columns:
        bits = float(updates.columns[BITS].clamp(max=x.payload_bits).sum())
    silent = SUPERPOSITION in x.link.offers  # late senders: symbols must end together
    norms = norm_bits(sim, int(updates.arrived.sum()) if silent else len(ids))
    return bits if norms is None else (bits or 0.0) + norms


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
    """Planned energy ``[S]`` of computing, sending and waiting.

    None without a fleet, or where the energy depends on the payload. As planners do, it counts that senders wait for
    the deadline (without one, for the last sender of their receiver).
    """
    x, tx_s = planned.x, planned.airtime.tx_s
    if tx_s is None or x.alloc.power_w is None:
        return None
    energy = _energy(x, planned.airtime, x.alloc.power_w * tx_s, receiver_times(planned, "deadline"))
    if energy.compute_j is None or energy.tx_j is None:
        return None
    total = energy.compute_j + energy.tx_j
    return torch.where(x.alloc.active, total if energy.wait_j is None else total + energy.wait_j, 0.0)


@dataclass(frozen=True)
class ExchangeEnergy:
    """Energy of the senders ``[S]`` in an exchange; None where it is undefined.

    ``wait_j`` is also None where devices draw no power while they wait.
    """

    compute_j: Tensor | None
    tx_j: Tensor | None
    wait_j: Tensor | None


def _energy(x: Exchange, airtime: Airtime, radiated_j: Tensor | None, times: Tensor | None) -> ExchangeEnergy:
    """Energy of an exchange that takes ``times [R]`` seconds and in which senders radiate ``radiated_j [S]``.

    The link knows what is radiated; amplifier, circuit and CPU belong to the devices.
    """
    fleet, alloc = x.fleet, x.alloc
    if fleet is None:
        return ExchangeEnergy(None, radiated_j, None)
    computing, sending, waiting = None, radiated_j, None
    if x.cycles_per_step is not None and alloc.cpu_hz is not None:
        computing = compute_j(fleet, _cycles(x, x.cycles_per_step * alloc.steps, alloc.cpu_hz), alloc.cpu_hz)
    if radiated_j is not None and airtime.tx_s is not None:
        sending = transmit_j(fleet, radiated_j, airtime.tx_s)
    if fleet.idle_w and times is not None and x.ready_s is not None and airtime.tx_s is not None:
        waiting = wait_j(fleet, times[x.parent] - x.ready_s - airtime.tx_s)
    return ExchangeEnergy(computing, sending, waiting)


def _cycles(x: Exchange, cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """CPU cycles ``[S]`` that clients compute of their ``cycles``.

    A client that would compute beyond the deadline ``T`` has computed ``f T`` cycles by then, unless late clients
    finish.
    """
    if x.late == "finish" or x.deadline_s is None:
        return cycles
    return torch.where(compute_s(cycles, cpu_hz) > x.deadline_s, cpu_hz * x.deadline_s, cycles)


def _of_active(values: Tensor | None, ids: Tensor) -> list[float] | None:
    """A per-sender quantity ``[S]`` of the active senders, as a list."""
    if values is None:
        return None
    numbers: list[float] = values[ids].double().tolist()
    return numbers


def total_of(values: list[float] | None) -> float | None:
    return None if values is None else sum(values, 0.0)
