"""Contract of updates: what senders put on the link, as a plain value."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fedradio.core.contracts.state import Slots

if TYPE_CHECKING:
    from fedradio.core.contracts.radio import Noted

PAYLOADS = "payloads"
"""Column of updates: client payloads that a sender stands for."""

LOSS = "loss"
"""Column of updates: mean training loss; NaN: the client was not heard of."""

BITS = "bits"
"""Column of updates: bits of the payload, where they are fewer than foreseen."""


@dataclass(frozen=True)
class Measured:
    """Measurements of real devices, of the active clients: ``seconds [A]`` from the request to the reply, of which
    ``train_s [A]`` were training, and the ``wire_bits [A]`` of the reply. NaN: there was none."""

    seconds: Tensor
    train_s: Tensor
    wire_bits: Tensor


@dataclass(frozen=True)
class Updates:
    """Updates of the senders ``ids [A]`` for their receivers ``group [A]``: the coded ``payload [A, k, d]``.

    A plain value: it can be cut (:meth:`rows`), joined (:func:`join_updates`), kept and merged later.
    ``arrived [A]`` says who arrives, ``reason [A]`` why others do not, ``expect [A]`` as of
    :class:`~fedradio.core.contracts.Airtime`. ``staleness [A]`` counts the merges since the sender received its model,
    ``due_s [A]`` the seconds from now until the update arrives (None: time is undefined). ``known`` holds what
    receivers are told of a sender, ``columns`` further values ``[A]`` for the records. ``local [A, n]`` are norm layers
    where these are sent. ``notes`` are for the record of the exchange in which the updates were sent, and so is what
    was ``measured`` of real devices.
    """

    ids: Tensor
    group: Tensor
    payload: Tensor
    arrived: Tensor
    reason: Tensor
    expect: Tensor
    staleness: Tensor
    due_s: Tensor | None
    known: Slots
    columns: Slots
    local: Tensor | None = None
    notes: dict[str, Noted] = field(default_factory=dict)
    measured: Measured | None = None

    @property
    def mean_loss(self) -> float | None:
        """Mean training loss of the clients that were heard of; None if none was."""
        loss = self.columns.get(LOSS)
        known = None if loss is None else loss[loss.isfinite()]
        return None if known is None or len(known) == 0 else float(known.mean())

    def rows(self, which: Tensor) -> Updates:
        """The updates in these rows, numbers or a mask, without notes and measurements."""
        values = {name: _each(value, lambda rows: rows[which.to(rows.device)]) for name, value in _rows_of(self)}
        return replace(self, **values, notes={}, measured=None)


def join_updates(first: Updates, second: Updates) -> Updates:
    """The updates of both, by rising numbers of their senders, without notes and measurements."""
    if len(second.ids) == 0:  # nobody worked, so that nothing but its being empty is said of it
        return replace(first, notes={}, measured=None)
    ids = torch.cat((first.ids, second.ids))
    order = ids.argsort(stable=True)

    def joined(ours: Any, theirs: Any) -> Any:
        if isinstance(ours, dict):
            return {name: joined(rows, theirs[name]) for name, rows in ours.items()}
        return None if ours is None else torch.cat((ours, theirs))[order.to(ours.device)]

    values = {name: joined(value, getattr(second, name)) for name, value in _rows_of(first)}
    return Updates(**values)


def _rows_of(updates: Updates) -> list[tuple[str, Any]]:
    """Fields with a row for every update, by name."""
    names = [entry.name for entry in fields(Updates) if entry.name not in ("notes", "measured")]
    return [(name, getattr(updates, name)) for name in names]


def _each(value: Any, change: Any) -> Any:
    """A tensor, or each of some named tensors, changed; None stays None."""
    if isinstance(value, dict):
        return {name: change(rows) for name, rows in value.items()}
    return None if value is None else change(value)
