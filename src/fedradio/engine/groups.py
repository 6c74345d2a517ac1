"""Groups of clients that are trained together, cut by the coordinator of a run for whatever backend it has.

Sums over stacked clients round differently from sums of one client, so that results depend on the groups. They depend
on the cohort and the model alone: not on the number of cores, nor on the machines that train them. A client's result
depends on its group alone, so that a cohort may be cut between groups, and its parts trained apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

import torch
from torch import Tensor

from fedradio.core.contracts import Batches, Grouping, KeptTargets, Picks, Slots, Trained, TrainJob
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import largest_batch
from fedradio.losses.cross_entropy import is_plain

STACK_BYTES = 4e6
"""Cache budget of a group's parameters and activations."""
MAX_STACK = 64


def cut(job: TrainJob, grouping: Grouping = "auto") -> list[list[int]]:
    """Groups of rows of the cohort; with ``single`` every client is trained alone, whoever else is in the cohort."""
    return order(job.updates.tolist(), 1 if grouping == "single" else stack(job))


def stack(job: TrainJob) -> int:
    """Most clients of a group: ``clamp(4 MB / bytes of one client, 1, 64)``, counting parameters and activations of its
    models (two under a loss without fused kernels); 1 for networks that are not Flatten/Linear/ReLU stacks."""
    layers = dense_layers(job.model)
    if layers is None:
        return 1
    parameters = sum(field.size for layer in layers for field in layer.fields)
    units = layers[0].inputs + sum(2 * layer.outputs for layer in layers)
    models = 1 if is_plain(job.rule) else 2
    each = models * (parameters + largest_batch(job) * units) * job.start.w.element_size()
    return int(min(max(STACK_BYTES / each, 1), MAX_STACK))


def order(updates: Sequence[int], most: int) -> list[list[int]]:
    """Groups of at most ``most`` clients, sorted by falling number of updates (ties by row); idle ones are left out.

    Clients with updates left are then a prefix of each group. There is one group or an even number of them, so that two
    cores finish together.
    """
    busy = sorted((row for row, n in enumerate(updates) if n > 0), key=lambda row: -updates[row])
    if len(busy) <= most:
        return [busy] if busy else []
    groups = min(2 * math.ceil(len(busy) / (2 * most)), len(busy))
    cuts = [len(busy) * i // groups for i in range(groups + 1)]
    return [busy[lo:hi] for lo, hi in pairwise(cuts)]


def check_groups(updates: Sequence[int], groups: Sequence[Sequence[int]]) -> None:
    """Refuse groups that leave a client with updates out, name one twice or an idle one, or are not sorted."""
    if sorted(chain.from_iterable(groups)) != [row for row, n in enumerate(updates) if n > 0]:
        raise ValueError("groups must name every client with updates once, and nobody else")
    if any(updates[a] < updates[b] for rows in groups for a, b in pairwise(rows)):
        raise ValueError("the clients of a group must be sorted by decreasing number of updates")


def job_of_rows(job: TrainJob, rows: list[int]) -> TrainJob:
    """The job of some rows of a cohort, in this order; mini-batches that none of them uses are left out."""
    start, targets, batches = job.start, job.start.targets, job.batches
    chosen = torch.tensor(rows, dtype=torch.long)
    most = max(job.updates[chosen].tolist(), default=0)

    def of(values: Tensor) -> Tensor:
        return values[chosen.to(values.device)]

    def maybe(values: Tensor | None) -> Tensor | None:
        return None if values is None else of(values)

    def picked(picks: Picks) -> Picks:
        at = chosen.to(picks.index.device)
        return Picks(picks.index[at, :most], picks.count[at, :most])

    return replace(
        job,
        start=replace(
            start,
            group=of(start.group),
            shift=maybe(start.shift),
            local=maybe(start.local),
            ids=chosen if start.ids is None else of(start.ids),
            rows={name: of(values) for name, values in start.rows.items()},
            known={name: of(values) for name, values in start.known.items()},
            targets=None if targets is None else KeptTargets(of(targets.number), of(targets.value)),
            slots={name: of(values) for name, values in start.slots.items()},
        ),
        batches=Batches(
            picked(batches.labelled),
            None if batches.unlabelled is None else picked(batches.unlabelled),
            batches.fetch,
        ),
        updates=of(job.updates),
    )


def put_together(parts: Sequence[tuple[list[int], Trained]]) -> Trained:
    """The result of a cohort whose rows are those of the parts, each in one of them."""
    delta, loss = (_joined([(rows, getattr(trained, name)) for rows, trained in parts]) for name in ("delta", "loss"))

    def maybe(name: str) -> Tensor | None:
        pieces = [(rows, getattr(trained, name)) for rows, trained in parts]
        return None if pieces[0][1] is None else _joined(pieces)

    def each(name: str) -> Slots:
        pieces = [(rows, getattr(trained, name)) for rows, trained in parts]
        return {key: _joined([(rows, slots[key]) for rows, slots in pieces]) for key in pieces[0][1]}

    return Trained(delta, maybe("local"), loss, each("slots"), each("rows"), each("notes"), maybe("targets"))


def _joined(pieces: Sequence[tuple[list[int], Tensor]]) -> Tensor:
    clients = sum(len(rows) for rows, _ in pieces)
    whole = pieces[0][1].new_empty(clients, *pieces[0][1].shape[1:])
    for rows, values in pieces:
        whole[torch.tensor(rows, dtype=torch.long, device=whole.device)] = values
    return whole
