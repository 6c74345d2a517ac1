"""The one writer: rows of clients and of transforms' memories, which are too many to be copied, change here alone."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedradio.core.contracts import SimState, Slots
from fedradio.core.mapped import write_rows

CLIENT = "client"
"""Path of the clients' own slots among writes; the others are those of parts."""


@dataclass(frozen=True)
class Writes:
    """New ``rows[path][name] [A, ...]`` of the senders ``ids [A]``."""

    ids: Tensor
    rows: dict[str, Slots]


def commit(state: SimState, writes: Writes) -> None:
    """Write rows in place."""
    for path, slots in writes.rows.items():
        kept = state.memory.client if path == CLIENT else state.parts[path]
        for name, rows in slots.items():
            write_rows(kept[name], writes.ids.to(kept[name].device), rows)
