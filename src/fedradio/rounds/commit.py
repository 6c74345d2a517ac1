"""The one writer: rows of clients, of receivers' ledgers and of parts, which are too many to be copied, change here
alone."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedradio.core.contracts import SimState, Slots
from fedradio.core.mapped import write_rows

CLIENT, LEDGER = "client", "ledger"
"""Paths of the clients' own slots and of the receivers' ledger among writes; the others are those of parts."""


@dataclass(frozen=True)
class Writes:
    """New ``rows[path][name] [A, ...]`` of the senders ``ids [A]``."""

    ids: Tensor
    rows: dict[str, Slots]


def commit(state: SimState, writes: Writes) -> None:
    """Write rows in place."""
    kept = state.parts | {CLIENT: state.memory.client, LEDGER: state.memory.ledger}
    for path, slots in writes.rows.items():
        for name, rows in slots.items():
            write_rows(kept[path][name], writes.ids.to(kept[path][name].device), rows)
