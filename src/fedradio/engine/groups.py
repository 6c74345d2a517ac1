"""Groups of clients that are trained together, cut by the coordinator of a run for whatever backend it has.

Sums over stacked clients round differently from sums of one client, so that results depend on the groups. They depend
on the cohort and the model alone: not on the number of cores, nor on the machines that train them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, pairwise

from fedradio.core.contracts import Grouping, TrainJob
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import largest_batch

STACK_BYTES = 4e6
"""Cache budget of a group's parameters and activations."""
MAX_STACK = 64


def cut(job: TrainJob, grouping: Grouping = "auto") -> list[list[int]]:
    """Groups of rows of the cohort; with ``single`` every client is trained alone, whoever else is in the cohort."""
    return order(job.updates.tolist(), 1 if grouping == "single" else stack(job))


def stack(job: TrainJob) -> int:
    """Most clients of a group: ``clamp(4 MB / bytes of one client, 1, 64)``, counting parameters and activations of its
    models (two under an objective); 1 for networks that are not Flatten/Linear/ReLU stacks."""
    layers = dense_layers(job.model)
    if layers is None:
        return 1
    parameters = sum(field.size for layer in layers for field in layer.fields)
    units = layers[0].inputs + sum(2 * layer.outputs for layer in layers)
    models = 1 if job.rule.objective is None else 2
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
        raise ValueError("the clients of a group must be sorted by falling number of updates")
