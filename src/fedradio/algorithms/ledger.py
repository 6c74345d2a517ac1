"""Ledger: receivers remember each client's last upload (OSAFL, Algorithms 2 and 6-10).

A ledger of ``changes`` keeps the last change of a client and repeats it while the client is away; one of ``models``
keeps its last model, so that an absent client pulls the mean back to where it once was. By hand, with two clients,
``w = 0`` and changes 2 (client 0) and 4 (client 1): both give ``w = 3``. If only client 0 comes again, with change 1,
then ``changes`` steps by ``(1 + 4)/2`` to 5.5, and ``models``, which holds ``3 + 1`` and ``4``, moves to 4.

An algorithm that has one says how all clients, arrived or not, are weighed (:meth:`Algorithm.coefficients`); the total
of what is remembered then takes the place of the link's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from fedradio.core.contracts import MODEL, Algorithm, Delivery, Held, Info, Ledger, Memory, Merged, Publishes, Slots
from fedradio.core.contracts.algorithm import AGE, SENT
from fedradio.core.errors import Problem, SpecError
from fedradio.core.mapped import zero_rows
from fedradio.core.params import group_sum
from fedradio.core.registry import Arg

Buffer = Literal["none", "gradients", "models"]
NeverSeen = Literal["nothing", "literal"]

BUFFER = Arg(
    "what receivers remember of each client: nothing, its last change, or its last model; absent clients then still "
    "count"
)
NEVER_SEEN = Arg(
    "contribution of a client that has never been heard: nothing, or (literal) the initial value w/eta of OSAFL, "
    "which pulls the model towards 0"
)

FEW = 16
"""Rows written at a time: a copy of the whole cohort would double the memory."""


def ledger_of(buffer: Buffer, never_seen: NeverSeen = "nothing", publishes: tuple[str, ...] = ()) -> Ledger | None:
    """The ledger that the keywords of an algorithm ask for; refuses ``literal`` without gradients, which w/eta is."""
    if never_seen == "literal" and buffer != "gradients":
        reason = "the published contribution w/eta is a gradient, but this buffer stores no gradients"
        raise SpecError(Problem("algorithm.never_seen", reason, "use nothing, or buffer: gradients", never_seen))
    return None if buffer == "none" else Ledger(buffer == "models", never_seen == "literal", publishes)


def start_memory(algorithm: Algorithm, w: Tensor, clients: int, receivers: int) -> Memory:
    """Memory of an algorithm before the first round, with an empty ledger where it has one."""
    memory = algorithm.init(w, clients, receivers)
    if algorithm.ledger is None:
        return memory
    age = torch.full((clients,), -1.0, dtype=torch.float64)
    return replace(memory, ledger={SENT: zero_rows(clients, w), AGE: age} | memory.ledger)


def published_names(algorithm: Algorithm) -> frozenset[str]:
    """Names of the signals that merging publishes to policies and records: those of a ledger, and the algorithm's."""
    own = algorithm.publishes if isinstance(algorithm, Publishes) else frozenset()
    return own if algorithm.ledger is None else own | {"staleness", "weight", *algorithm.ledger.publishes}


def filings(kind: Ledger, ledger: Slots, delivery: Delivery, info: Info, w: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """What receivers write down of an exchange: numbers of clients ``[n]`` and their rows of :data:`SENT` ``[n, d]``,
    ``FEW`` at a time. ``w [R, d]`` are the models that their clients started from.

    ``literal``: clients that were never seen are given the published gradient ``w/eta``, which is the change ``-w``. It
    pulls the model to zero, and at a high global rate far beyond.
    """
    assert delivery.rows is not None
    device, arrived = ledger[SENT].device, info.arrived.nonzero().flatten()
    for rows in _few(arrived):
        change = delivery.rows[rows.to(device), 0]
        if kind.models:
            change += w[info.group[rows].to(device)]
        yield info.ids[rows], change
    if kind.literal:
        unseen = (ledger[AGE] < 0).index_fill(0, info.ids[arrived], False)
        for rows in _few(unseen.nonzero().flatten()):
            yield rows, -w[info.parent[rows].to(device)]


def _few(rows: Tensor) -> Iterator[Tensor]:
    """Row numbers ``[n]``, ``FEW`` at a time."""
    return (rows[first : first + FEW] for first in range(0, len(rows), FEW))


def merge_ledger(algorithm: Algorithm, held: Held, delivery: Delivery, info: Info) -> tuple[Merged, Tensor]:
    """The merge of what is remembered of all clients, once the arrivals have been written down; and the weight ``[C]``
    that counts of each."""
    kind, w = algorithm.ledger, held.shared[MODEL]
    assert kind is not None
    aged = replace(held, ledger=held.ledger | {AGE: _aged(held.ledger[AGE], info)})
    slots, coefficient = algorithm.coefficients(aged, info)
    weight = torch.where(slots[AGE] >= 0, coefficient, 0.0)
    total = mix(slots[SENT], coefficient, info.parent, info.receivers)
    if kind.models:  # whoever was never seen has the receiver's own model, which changes nothing
        total = total - group_sum(weight.double(), info.parent, info.receivers).to(w).unsqueeze(1) * w
    merged = algorithm.merge(replace(held, ledger=slots), replace(delivery, total=total.unsqueeze(1)), info)
    after = replace(merged.held, ledger=slots | merged.held.ledger)
    published = {"staleness": slots[AGE], "weight": weight} | {name: slots[name] for name in kind.publishes}
    return Merged(after, merged.published | published), weight


def _aged(age: Tensor, info: Info) -> Tensor:
    """Exchanges ``[C]`` since every client last arrived, after this one; -1 before the first time."""
    return torch.where(age >= 0, age + 1, age).index_fill(0, info.ids[info.arrived], 0.0)


def mix(rows: Tensor, coefficient: Tensor, parent: Tensor, receivers: int) -> Tensor:
    """Weighted sums ``out[r] = sum_{u: parent_u = r} coefficient_u rows_u``; ``rows [C, d]``, result ``[R, d]``."""
    matrix = torch.zeros(receivers, len(rows), dtype=torch.float64)
    matrix[parent, torch.arange(len(rows))] = coefficient.double()
    return matrix.to(rows) @ rows
