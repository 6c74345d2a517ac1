"""Participation of clients in the exchanges of hop 0: who sent, who arrived, and why the others did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts.reasons import REASON_NAMES, Reason
from fedradio.core.contracts.records import ExchangeRecord

NUMBERS = {name: number for number, name in REASON_NAMES.items()}
"""Number of every reason by its name in the records."""


@dataclass(frozen=True)
class Participation:
    """Participation of clients on hop 0, ``[E, C]``: one row per edge round; ``joules`` of computing and sending.

    ``reason`` holds :class:`~fedradio.core.contracts.Reason` numbers: why a client's payload did not count.
    """

    active: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    reason: NDArray[np.int8]
    steps: NDArray[np.int32]
    joules: NDArray[np.float64] | None

    def reasons(self) -> dict[str, NDArray[np.int64]]:
        """Clients out for every reason in every edge round, ``name -> [E]``; reasons that never occur are left out."""
        reasons = [reason for reason in Reason if reason != Reason.NONE]
        counts = {reason.name.lower(): (self.reason == reason).sum(axis=1) for reason in reasons}
        return {name.replace("_", " "): count for name, count in counts.items() if count.any()}


def participation_of(records: Sequence[ExchangeRecord], clients: int) -> Participation:
    """Participation of ``clients`` in the exchanges of hop 0."""
    shape = (len(records), clients)
    active, arrived = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    reason, steps = np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=np.int32)
    joules = np.zeros(shape) if records and all(record.joules is not None for record in records) else None
    for e, record in enumerate(records):
        ids = np.array(record.ids, dtype=np.int64)
        active[e, ids], arrived[e, ids], steps[e, ids] = True, record.arrived, record.steps
        reason[e] = NUMBERS[record.rest]
        for name, idle in record.idle.items():
            reason[e, idle] = NUMBERS[name]
        reason[e, ids] = [NUMBERS[name] for name in record.why]
        if joules is not None:
            joules[e, ids] = record.joules
    return Participation(active, arrived, reason, steps, joules)
