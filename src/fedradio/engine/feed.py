"""Mini-batches of losses, update by update, for a group of clients: labelled samples, then unlabelled ones."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import NO_SAMPLE, Batch, Model, Picks, Slots
from fedradio.engine.local import LossPart, Training, select

CHUNK = 250
"""Samples that go through the received model at once."""


class Feed:
    """Mini-batches of a group of clients, those with most updates first.

    Targets of unlabelled samples are computed here, before any update: one forward pass of the received model, in
    evaluation mode, for every distinct unlabelled sample that a client will use in the round; where targets are kept,
    for every one that it has. The share that points at the label is a result too.
    """

    def __init__(self, model: Model, training: Training, part: LossPart, rows: list[int]) -> None:
        steps, chosen = training.updates[rows[0]], select(rows)
        self._fetch = training.fetch
        self._labelled = _ByUpdate(Picks(training.index, training.count), chosen, steps)
        self._unlabelled = _ByUpdate(part.unlabelled, chosen, steps)
        self._known: Slots = {name: values[chosen] for name, values in part.known.items()}
        self._targets, self._place = _targets(model, training, part, rows)

    def __call__(self, j: int, live: int) -> tuple[Tensor, Batch] | None:
        """Samples ``x [live, n + m, *shape]`` of update ``j``, without the client axis if one client is live, and what
        the loss sees of them; None if there are no samples."""
        n, m = max(self._labelled.counts[j][:live]), max(self._unlabelled.counts[j][:live])
        if n + m == 0:
            return None
        rows: int | slice = 0 if live == 1 else slice(live)
        picks = torch.cat([self._labelled.index[j][rows, ..., :n], self._unlabelled.index[j][rows, ..., :m]], dim=-1)
        x, y = self._fetch(picks)
        targets = self._targets[self._place[j][:live, ..., :m]]
        return x, Batch(
            y.view(live, -1)[:, :n],
            _mean_weights(self._labelled.count[j][:live], n, targets),
            targets,
            _mean_weights(self._unlabelled.count[j][:live], m, targets),
            {name: values[:live] for name, values in self._known.items()},
        )


class _ByUpdate:
    """Mini-batches of the chosen clients by update: ``index [k, B]`` and sizes ``count [k]`` of each."""

    def __init__(self, picks: Picks, chosen: slice | Tensor, steps: int) -> None:
        count = picks.count[chosen, :steps].T.contiguous()
        self.index = picks.index[chosen, :steps].transpose(0, 1).contiguous().unbind()
        self.count = count.unbind()
        self.counts: list[list[int]] = count.tolist()


def _mean_weights(count: Tensor, width: int, like: Tensor) -> Tensor:
    """Weights ``[k, width]`` of a mean over the first ``count [k]`` samples: ``1/count``, then 0."""
    count = count.unsqueeze(-1)
    real = torch.arange(width, device=count.device) < count
    return real.to(like) / count.clamp(min=1)


def _targets(model: Model, training: Training, part: LossPart, rows: list[int]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Targets ``[n, C]`` of all distinct unlabelled samples, client after client, and for every update the positions
    ``[k, B]`` of its samples among them. Of a loss that makes none they are uniform, and neither right nor wrong."""
    steps = training.updates[rows[0]]
    index = part.unlabelled.index[select(rows), :steps]
    place = torch.zeros_like(index)
    tables = [training.delta.new_full((1, model.classes), 1.0 / model.classes)]  # what padded picks point at
    offset = 1
    for i, row in enumerate(rows if part.loss.makes_targets else []):
        real = torch.arange(index.shape[-1], device=index.device) < part.unlabelled.count[row, :steps, None]
        real[training.updates[row] :] = False
        distinct, inverse = _samples_of(training, part, row, index[i][real])
        before = None if part.targets is None else part.targets[row, : len(distinct)]
        w = training.start.w[int(training.start.group[row])]
        if training.start.local is not None:
            w = torch.cat([w, training.start.local[row]])
        hits = []
        for first in range(0, len(distinct), CHUNK):
            chunk = slice(first, first + CHUNK)
            x, y = training.fetch(distinct[chunk])
            targets = part.loss.targets(model.apply(w, x), None if before is None else before[chunk])
            if before is not None:
                before[chunk] = targets
            hits.append(targets.argmax(-1) == y)
            tables.append(targets)
        if hits and len(inverse):
            part.hits[row] = torch.cat(hits)[inverse].to(part.hits).mean()
        place[i][real] = inverse + offset
        offset += len(distinct)
    return torch.cat(tables), place.transpose(0, 1).contiguous().unbind()


def _samples_of(training: Training, part: LossPart, row: int, used: Tensor) -> tuple[Tensor, Tensor]:
    """The samples of a client that get targets, rising and each once, and the places of the ``used`` in them."""
    kept = training.start.targets
    if part.targets is None or kept is None:
        distinct, inverse = torch.unique(used, return_inverse=True)
        return distinct, inverse
    number = kept.number[row]
    number = number[number < NO_SAMPLE]
    return number, torch.searchsorted(number, used)
