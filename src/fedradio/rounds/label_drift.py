"""Drift of the clients' data: new samples and change of label distributions, per client ``[C]``."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from fedradio.core.contracts import Slots

START_COUNTS = "start_label_counts"
"""Signal ``[C, classes]``: label counts of every client before the first round."""

START_SEEN = "start_seen"
"""Signal ``[C]``: samples that every client had seen before the first round."""

DATA_NOTES = frozenset({"fresh", "label_drift", "label_shift", "top_labels", "least_labels"})
"""Names of :func:`data_notes`."""


def start_signals(stats: Slots) -> Slots:
    """Signals of the data before the first round, against which drift is measured."""
    return {START_COUNTS: stats["label_counts"].cpu(), START_SEEN: stats["seen"].cpu()}


def data_notes(before: Slots, now: Slots) -> Slots:
    """Notes on the change of the clients' data between the signals of two exchanges.

    ``fresh``: new samples; ``label_drift``: total variation distance ``sum |p - q| / 2`` between the label shares now
    and before; ``label_shift``: the same against the start; ``top_labels`` and ``least_labels``: the share now of the
    two labels that were the client's most and least frequent (of those it had) at the start (OSAFL, Fig. 2). Empty
    if no sample has arrived since the start. By hand: counts (3, 1) before and (2, 2) now drift by 1/4.
    """
    if torch.equal(now["seen"], before[START_SEEN]):
        return {}
    shares, start = _shares(now["label_counts"]), before[START_COUNTS]
    top, least = _extremes(start)
    return {
        "fresh": now["seen"] - before["seen"],
        "label_drift": _distance(shares, _shares(before["label_counts"])),
        "label_shift": _distance(shares, _shares(start)),
        "top_labels": (shares * top).sum(dim=1),
        "least_labels": (shares * least).sum(dim=1),
    }


@lru_cache(maxsize=3)
def _shares(counts: Tensor) -> Tensor:
    """Label shares ``[C, classes]``; kept for the counts of the start, of the last exchange and of this one."""
    return counts.double() / counts.sum(dim=1, keepdim=True).clamp(min=1)


def _distance(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).abs().sum(dim=1) / 2


@lru_cache(maxsize=1)
def _extremes(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Masks ``[C, classes]`` of the two most frequent labels, and of the two least frequent that occur.

    Kept while the counts are the same tensor, as those of the start are.
    """
    width = min(2, counts.shape[1])
    present = counts > 0
    rare = torch.where(present, counts, counts.max() + 1)
    top, least = torch.zeros_like(present), torch.zeros_like(present)
    top.scatter_(1, counts.argsort(dim=1, descending=True, stable=True)[:, :width], True)
    least.scatter_(1, rare.argsort(dim=1, stable=True)[:, :width], True)
    return top & present, least & present
