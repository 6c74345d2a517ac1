"""Mini-batches ``[L; U]`` and targets of semi-supervised training, update by update, for a group of clients."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import NO_SAMPLE, Model, Picks
from fedradio.engine.local import Semi, Training, select
from fedradio.engine.objective import Targets, pseudo_labels, targets

CHUNK = 250
"""Samples that go through the received model at once."""


class Feed:
    """Mini-batches of a group of clients, those with most updates first.

    Pseudo-labels are computed here, before any update: one forward pass of the received model, in evaluation mode, for
    every distinct unlabelled sample that a client will use in the round; where labels are kept, for every one that it
    has, since (10) moves them all. Their accuracy in use is a result too.
    """

    def __init__(self, model: Model, training: Training, semi: Semi, rows: list[int]) -> None:
        steps, chosen = training.updates[rows[0]], select(rows)
        self._objective, self._fetch = semi.objective, training.fetch
        self._labelled = _ByUpdate(Picks(training.index, training.count), chosen, steps)
        self._unlabelled = _ByUpdate(semi.unlabelled, chosen, steps)
        self._nu, self._place = _pseudo_labels(model, training, semi, rows)

    def __call__(self, j: int, live: int) -> tuple[Tensor, Targets] | None:
        """Samples ``x [live, n, *shape]`` of update ``j`` and their targets, without the client axis if one client is
        live; None if there are no samples."""
        n, m = max(self._labelled.counts[j][:live]), max(self._unlabelled.counts[j][:live])
        if n + m == 0:
            return None
        rows: int | slice = 0 if live == 1 else slice(live)
        picks = torch.cat([self._labelled.index[j][rows, ..., :n], self._unlabelled.index[j][rows, ..., :m]], dim=-1)
        nu = self._nu[self._place[j][rows, ..., :m]]
        x, y = self._fetch(picks)
        return x, targets(
            self._objective, y[..., :n], self._labelled.count[j][rows], nu, self._unlabelled.count[j][rows]
        )


class _ByUpdate:
    """Mini-batches of the chosen clients by update: ``index [k, B]`` and sizes ``count [k]`` of each."""

    def __init__(self, picks: Picks, chosen: slice | Tensor, steps: int) -> None:
        count = picks.count[chosen, :steps].T.contiguous()
        self.index = picks.index[chosen, :steps].transpose(0, 1).contiguous().unbind()
        self.count = count.unbind()
        self.counts: list[list[int]] = count.tolist()


def _pseudo_labels(model: Model, training: Training, semi: Semi, rows: list[int]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Pseudo-labels ``[n, C]`` of all distinct samples, client after client, and for every update the positions
    ``[k, B]`` of its samples among them. With ``alpha_p = 0`` they are uniform, and neither right nor wrong."""
    steps = training.updates[rows[0]]
    index = semi.unlabelled.index[select(rows), :steps]
    place = torch.zeros_like(index)
    tables = [training.delta.new_full((1, model.classes), 1.0 / model.classes)]  # what padded picks point at
    offset = 1
    for i, row in enumerate(rows if semi.objective.alpha_p > 0.0 else []):
        real = torch.arange(index.shape[-1], device=index.device) < semi.unlabelled.count[row, :steps, None]
        real[training.updates[row] :] = False
        distinct, inverse = _samples_of(training, row, index[i][real])
        before = None if semi.nu is None else semi.nu[row, : len(distinct)]
        w = training.start.w[int(training.start.group[row])]
        if training.start.local is not None:
            w = torch.cat([w, training.start.local[row]])
        hits = []
        for first in range(0, len(distinct), CHUNK):
            part = slice(first, first + CHUNK)
            x, y = training.fetch(distinct[part])
            nu = pseudo_labels(semi.objective, model.apply(w, x), None if before is None else before[part])
            if before is not None:
                before[part] = nu
            hits.append(nu.argmax(-1) == y)
            tables.append(nu)
        if hits and len(inverse):
            semi.pseudo[row] = torch.cat(hits)[inverse].to(semi.pseudo).mean()
        place[i][real] = inverse + offset
        offset += len(distinct)
    return torch.cat(tables), place.transpose(0, 1).contiguous().unbind()


def _samples_of(training: Training, row: int, used: Tensor) -> tuple[Tensor, Tensor]:
    """The samples of a client that get pseudo-labels, rising and each once, and the places of the ``used`` in them."""
    semi, labels = training.semi, training.start.labels
    if semi is None or semi.nu is None or labels is None:
        distinct, inverse = torch.unique(used, return_inverse=True)
        return distinct, inverse
    number = labels.number[row]
    number = number[number < NO_SAMPLE]
    return number, torch.searchsorted(number, used)
