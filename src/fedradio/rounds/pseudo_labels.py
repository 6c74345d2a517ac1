"""Samples that get pseudo-labels, and the labels of these that clients keep across rounds (FedCPSL, (10))."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fedradio.core.contracts import NO_SAMPLE, Batches, Picks, PseudoLabels, Slots
from fedradio.core.rng import Rng
from fedradio.data.streams import Window
from fedradio.rounds.simulation import Learner

NUMBER, NU = "pseudo/number", "pseudo/nu"
"""Client slots of kept labels: sample numbers ``[C, M]``, plus 1 so that 0 is none, and labels ``[C, M, classes]``.
Both begin as zeros, which take no room until a client has trained."""


def label_slots(learner: Learner, row: Tensor, clients: int) -> Slots:
    """Client slots of kept pseudo-labels as one row for all clients; none where labels are not kept."""
    if not keeps_labels(learner):
        return {}
    most = _most_samples(learner)
    number, nu = row.new_zeros(most, dtype=torch.long), row.new_zeros(most, learner.model.classes)
    return {NUMBER: number.expand(clients, -1), NU: nu.expand(clients, -1, -1)}


def keeps_labels(learner: Learner) -> bool:
    """Whether clients keep pseudo-labels across rounds."""
    return learner.rule.objective is not None and learner.rule.objective.keeps_labels


def draw(learner: Learner, stream: Slots, ids: Tensor, updates: Tensor, rng: Rng) -> Batches:
    """Mini-batches of the active clients; where labelled samples stand in for unlabelled ones, these are drawn anew,
    independently of the labelled mini-batches."""
    extra = learner.rule.unlabelled_batch
    if extra == 0 or not _on_labelled(learner):
        return learner.stream.draw(stream, ids, updates, learner.rule.batch, rng, extra)
    batches = learner.stream.draw(stream, ids, updates, learner.rule.batch, rng)
    stand_in = learner.stream.draw(stream, ids, updates, extra, rng.child("stand_in"))
    return replace(batches, unlabelled=stand_in.labelled)


def recalled(learner: Learner, stream: Slots, ids: Tensor, slots: Slots, rng: Rng) -> PseudoLabels | None:
    """The labels of all samples that the clients have now: those they kept, uniform ones for samples that are new."""
    if not keeps_labels(learner):
        return None
    held = _all_samples(learner, stream, ids, rng)
    before, most = slots[NUMBER], slots[NUMBER].shape[1]
    number = torch.full_like(before, NO_SAMPLE)
    nu = torch.full_like(slots[NU], 1.0 / learner.model.classes)
    for a in range(len(ids)):
        now = torch.unique(held.index[a, 0, : int(held.count[a, 0])])[:most]
        number[a, : len(now)] = now
        known = before[a][before[a] > 0] - 1
        if len(known):
            place = torch.searchsorted(known, now).clamp(max=len(known) - 1)
            kept = known[place] == now
            nu[a, : len(now)][kept] = slots[NU][a, place[kept]]
    return PseudoLabels(number, nu)


def kept(labels: PseudoLabels, nu: Tensor) -> Slots:
    """Client slots ``[A, ...]`` of the labels ``nu`` after a round's step."""
    real = labels.number < NO_SAMPLE
    return {NUMBER: torch.where(real, labels.number + 1, 0), NU: nu * real.unsqueeze(-1)}


def _on_labelled(learner: Learner) -> bool:
    return learner.rule.objective is not None and learner.rule.objective.pseudo_on == "labelled"


def _all_samples(learner: Learner, stream: Slots, ids: Tensor, rng: Rng) -> Picks:
    """All samples of the clients that get pseudo-labels, ``index [A, 1, n]``: one batch that holds them all."""
    whole = max(int(learner.stream.stats(stream)["samples"].max()), 1)
    batches = learner.stream.draw(stream, ids, torch.ones_like(ids), whole, rng, whole)
    if _on_labelled(learner):
        return batches.labelled
    assert batches.unlabelled is not None
    return batches.unlabelled


def _most_samples(learner: Learner) -> int:
    """Most samples with pseudo-labels that a client can have: of its tape, or of what it has where there is none."""
    if isinstance(learner.stream, Window):
        tapes = learner.stream.tapes
        counted = (tapes.labelled == _on_labelled(learner)).long().cumsum(0)
        ends = torch.cat([counted.new_zeros(1), counted])[tapes.offset]
        return max(int(ends.diff().max()), 1)
    return max(int(learner.stream.stats(learner.stream.start())["samples"].max()), 1)
