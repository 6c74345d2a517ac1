"""Unlabelled samples that a loss makes targets of, and the targets that clients keep across rounds."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fedradio.core.contracts import NO_SAMPLE, Batches, KeptTargets, LocalRule, Picks, Slots, Stream
from fedradio.core.rng import Rng
from fedradio.data.streams import Window

NUMBER, VALUE = "targets/number", "targets/value"
"""Client slots of kept targets: sample numbers ``[C, M]``, plus 1 so that 0 is none, and targets ``[C, M, classes]``.
Both begin as zeros, which take no room until a client has trained."""


def target_slots(rule: LocalRule, stream: Stream, row: Tensor, clients: int) -> Slots:
    """Client slots of kept targets as one row for all clients; none where targets are not kept."""
    if not keeps_targets(rule):
        return {}
    most = _most_samples(rule, stream)
    number, value = row.new_zeros(most, dtype=torch.long), row.new_zeros(most, stream.classes)
    return {NUMBER: number.expand(clients, -1), VALUE: value.expand(clients, -1, -1)}


def keeps_targets(rule: LocalRule) -> bool:
    """Whether clients keep the targets of their samples across rounds."""
    return rule.loss is not None and rule.loss.keeps_targets


def draw(rule: LocalRule, stream: Stream, state: Slots, ids: Tensor, updates: Tensor, rng: Rng) -> Batches:
    """Mini-batches of the active clients; where labelled samples stand in for unlabelled ones, these are drawn anew,
    independently of the labelled mini-batches."""
    extra = rule.unlabelled_batch
    if extra == 0 or not _stand_in(rule):
        return stream.draw(state, ids, updates, rule.batch, rng, extra)
    batches = stream.draw(state, ids, updates, rule.batch, rng)
    stand_in = stream.draw(state, ids, updates, extra, rng.child("stand_in"))
    return replace(batches, unlabelled=stand_in.labelled)


def recalled(rule: LocalRule, stream: Stream, state: Slots, ids: Tensor, slots: Slots, rng: Rng) -> KeptTargets | None:
    """The targets of all samples that the clients have now: those they kept, uniform ones for samples that are new."""
    if not keeps_targets(rule):
        return None
    held = _all_samples(rule, stream, state, ids, rng)
    before, most = slots[NUMBER], slots[NUMBER].shape[1]
    number = torch.full_like(before, NO_SAMPLE)
    value = torch.full_like(slots[VALUE], 1.0 / slots[VALUE].shape[-1])
    for a in range(len(ids)):
        now = torch.unique(held.index[a, 0, : int(held.count[a, 0])])[:most]
        number[a, : len(now)] = now
        known = before[a][before[a] > 0] - 1
        if len(known):
            place = torch.searchsorted(known, now).clamp(max=len(known) - 1)
            kept = known[place] == now
            value[a, : len(now)][kept] = slots[VALUE][a, place[kept]]
    return KeptTargets(number, value)


def kept(targets: KeptTargets, value: Tensor) -> Slots:
    """Client slots ``[A, ...]`` of the targets ``value`` after a round."""
    real = targets.number < NO_SAMPLE
    return {NUMBER: torch.where(real, targets.number + 1, 0), VALUE: value * real.unsqueeze(-1)}


def _stand_in(rule: LocalRule) -> bool:
    return rule.loss is not None and rule.loss.stand_in


def _all_samples(rule: LocalRule, stream: Stream, state: Slots, ids: Tensor, rng: Rng) -> Picks:
    """All samples of the clients that get targets, ``index [A, 1, n]``: one batch that holds them all."""
    whole = max(int(stream.stats(state)["samples"].max()), 1)
    batches = stream.draw(state, ids, torch.ones_like(ids), whole, rng, whole)
    if _stand_in(rule):
        return batches.labelled
    assert batches.unlabelled is not None
    return batches.unlabelled


def _most_samples(rule: LocalRule, stream: Stream) -> int:
    """Most samples with targets that a client can have: of its tape, or of what it has where there is none."""
    if isinstance(stream, Window):
        tapes = stream.tapes
        counted = (tapes.labelled == _stand_in(rule)).long().cumsum(0)
        ends = torch.cat([counted.new_zeros(1), counted])[tapes.offset]
        return max(int(ends.diff().max()), 1)
    return max(int(stream.stats(stream.start())["samples"].max()), 1)
