"""Gather: which updates the receivers of hop 0 merge in an exchange, and how long the exchange lasts.

Updates that are not due yet stay in flight. They are part of the state, at the path ``hops.0.gather``: a row for every
client, of which ``in_flight [C]`` says whether it is in use. A client whose update is in flight does not take part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import LOSS, PAYLOADS, Gather, SimState, Slots, Updates, Work, join_updates
from fedradio.core.errors import OwnCodeError
from fedradio.rounds.cohort import work_of
from fedradio.rounds.commit import Writes
from fedradio.rounds.parts import IN_FLIGHT, TASKS, recall
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation


@dataclass(frozen=True)
class Gathering:
    """The ``updates`` that are merged now, and the seconds ``times_s [R]`` of the exchange (None: undefined)."""

    updates: Updates
    times_s: Tensor | None


def gather(
    sim: Simulation, state: SimState, planned: Planned, updates: Updates, times_s: Tensor | None
) -> tuple[Gathering, Writes]:
    """The updates that are merged now, of those in flight and those just sent, and the rows of those still in flight.

    ``times_s [R]`` are the seconds of the exchange if its receivers wait for all senders.
    """
    rule = sim.hops[planned.x.hop].gather
    if not rule.carries:
        return Gathering(updates, times_s), Writes(updates.ids, {})
    if updates.due_s is None and len(updates.ids) > 0:
        reason = "nobody knows when these updates arrive (done_s of the link's Airtime): either the link forecasts no"
        raise OwnCodeError(f"{_named(rule)}: {reason} seconds, or the policy gives no CPU frequency (cpu_hz)")
    tasks = join_updates(_in_flight(recall(state.parts, TASKS)), updates)
    if len(tasks.ids) == 0:
        return Gathering(tasks, times_s), Writes(tasks.ids, {})
    assert tasks.due_s is not None
    now, seconds = _due(rule, tasks.due_s, tasks.ids)
    later = replace(tasks, due_s=tasks.due_s - seconds, staleness=tasks.staleness + 1)
    lasts_s = torch.full((planned.x.receivers,), seconds, dtype=torch.float64)
    return Gathering(tasks.rows(now), lasts_s), Writes(tasks.ids, {TASKS: {IN_FLIGHT: ~now, **_slots(later)}})


def start_tasks(sim: Simulation, signals: Slots, row: Tensor) -> Slots:
    """Memory of updates in flight before the first round; ``row [D]`` is the initial model."""
    clients, message = sim.topology.clients, sim.message(0)
    nobody = torch.zeros(clients, dtype=torch.long)
    work = work_of(sim.rule, nobody, 0)
    quantities = {entry.name: getattr(work, entry.name) for entry in fields(Work)}
    numbers = torch.zeros(clients, dtype=torch.float64)
    empty = Updates(
        ids=torch.arange(clients),
        group=nobody,
        payload=row.new_zeros(message.blocks, message.size).expand(clients, -1, -1),
        arrived=nobody.bool(),
        reason=nobody,
        expect=numbers,
        staleness=nobody,
        due_s=numbers,
        known={name: rows for name, rows in (signals | quantities).items() if name in sim.algorithm.reveals},
        columns={PAYLOADS: nobody, LOSS: numbers},
    )
    return {name: torch.zeros_like(rows) for name, rows in {IN_FLIGHT: nobody.bool(), **_slots(empty)}.items()}


def _due(rule: Gather, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
    """The decision of a part on the updates in flight: a mask, and seconds by which all that it marks are there."""
    now, seconds = rule.due(due_s, ids)
    if not (isinstance(now, Tensor) and now.dtype == torch.bool and now.shape == ids.shape):
        given = f"{now.dtype} {list(now.shape)}" if isinstance(now, Tensor) else type(now).__name__
        reason = f"which updates are merged is given as {given}; return a mask, torch.bool [{len(ids)}]"
        raise OwnCodeError(f"{_named(rule)}: {reason}")
    if not (isinstance(seconds, float | int) and math.isfinite(seconds) and seconds >= 0):
        raise OwnCodeError(f"{_named(rule)}: lasts {seconds} seconds; return a finite float, at least 0")
    if bool((early := now & (due_s > seconds)).any()):
        raise OwnCodeError(f"{_named(rule)}: merges the update of client {int(ids[early][0])} before it is due")
    return now, seconds


def _named(rule: Gather) -> str:
    """A part as messages name it."""
    return f"hops.0.gather, {type(rule).__name__}"


def _in_flight(slots: Slots) -> Updates:
    """The updates in flight, by rising numbers of their clients."""
    ids = slots[IN_FLIGHT].nonzero().squeeze(1)
    rows = {name: values[ids.to(values.device)] for name, values in slots.items()}
    plain: dict[str, Any] = {name: rows[name] for name in _TENSORS}
    return Updates(ids=ids, **plain, known=_below(rows, "known/"), columns=_below(rows, "columns/"))


def _below(slots: Slots, prefix: str) -> Slots:
    return {name.removeprefix(prefix): rows for name, rows in slots.items() if name.startswith(prefix)}


def _slots(updates: Updates) -> Slots:
    """Updates as named tensors, but for the numbers of their senders."""
    plain = {name: getattr(updates, name) for name in _TENSORS}
    grouped = {f"known/{name}": rows for name, rows in updates.known.items()}
    grouped |= {f"columns/{name}": rows for name, rows in updates.columns.items()}
    return plain | grouped


_TENSORS = ("group", "payload", "arrived", "reason", "expect", "staleness", "due_s")
