"""Contribution buffers: receivers remember each client's last upload (OSAFL, Algorithms 2 and 6-10).

A ``gradients`` buffer keeps the last change of a client and repeats it while the client is away; a ``models`` buffer
keeps its last model, so that an absent client pulls the mean back to where it once was. By hand, with two clients,
``w = 0`` and changes 2 (client 0) and 4 (client 1): both buffers give ``w = 3``. If only client 0 comes again, with
change 1, then ``gradients`` steps by ``(1 + 4)/2`` to 5.5, and ``models``, which holds ``3 + 1`` and ``4``, moves to 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor

from fedradio.core.contracts import MODEL, Delivery, Held, Info, Merged, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.mapped import zero_rows
from fedradio.core.params import group_sum
from fedradio.core.registry import Arg

Buffer = Literal["none", "gradients", "models"]
NeverSeen = Literal["nothing", "literal"]

SENT = "sent"
"""Ledger slot ``[C, d]``: the last upload of each client."""

AGE = "age"
"""Ledger slot ``[C]``: exchanges since each client last arrived; -1 before the first time."""

SIGNALS = frozenset({"staleness", "weight"})
"""Signals ``[C]`` that merging from a buffer publishes: the ages, and the weight of every contribution."""

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


def open_buffer(w: Tensor, clients: int) -> Slots:
    """An empty buffer for changes or models of the size of ``w [d]``."""
    return {
        SENT: zero_rows(clients, w),
        AGE: torch.full((clients,), -1.0, dtype=torch.float64),
    }


def merge_remembered(
    held: Held,
    delivery: Delivery,
    info: Info,
    weigh: Callable[[Slots, Info], tuple[Slots, Tensor]],
    *,
    buffer: Buffer,
    never_seen: NeverSeen = "nothing",
    server_lr: float = 1.0,
) -> Merged:
    """The receivers' models after the contributions of all clients, arrived or not.

    ``weigh`` gives their coefficients ``[C]``, and the ledger with the values that these depend on.
    """
    w = held.shared[MODEL]
    models = w if buffer == "models" else None
    ledger = file_arrivals(held.ledger, delivery, info, models)
    if never_seen == "literal":
        take_literally(ledger, info, w)
    ledger, coefficient = weigh(ledger, info)
    step = remembered_step(ledger, coefficient, info, models)
    weight = torch.where(ledger[AGE] >= 0, coefficient, 0.0)
    after = Held({MODEL: w + server_lr * step}, ledger, held.receiver)
    return Merged(after, {"staleness": ledger[AGE], "weight": weight}, counted=weight)


def file_arrivals(ledger: Slots, delivery: Delivery, info: Info, base: Tensor | None = None) -> Slots:
    """Write the rows that arrived into the buffer, in place, and increase the ages of the others.

    With ``base [R, d]``, the model that the receiver's clients started from, models are kept instead of changes.
    """
    assert delivery.rows is not None
    sent, age = ledger[SENT], ledger[AGE]
    age = torch.where(age >= 0, age + 1, age)
    arrived = info.arrived.nonzero().flatten()
    for rows in _few(arrived):
        change = delivery.rows[rows.to(sent.device), 0]
        if base is not None:
            change += base[info.group[rows].to(sent.device)]
        sent.index_copy_(0, info.ids[rows].to(sent.device), change)
    return ledger | {AGE: age.index_fill(0, info.ids[arrived], 0.0)}


def _few(rows: Tensor) -> Iterator[Tensor]:
    """Row numbers ``[n]``, ``FEW`` at a time."""
    return (rows[first : first + FEW] for first in range(0, len(rows), FEW))


def take_literally(ledger: Slots, info: Info, w: Tensor) -> None:
    """Give clients that were never seen the published gradient ``w/eta``, which is the change ``-w``; in place.

    It pulls the model to zero, and at a high global rate far beyond.
    """
    sent = ledger[SENT]
    for rows in _few((ledger[AGE] < 0).nonzero().flatten()):
        sent.index_copy_(0, rows.to(sent.device), -w[info.parent[rows].to(sent.device)])


def remembered_step(ledger: Slots, coefficient: Tensor, info: Info, models_of: Tensor | None = None) -> Tensor:
    """Model change ``[R, d]`` of all remembered contributions, weighed by ``coefficient [C]``.

    With ``models_of [R, d]``, the receivers' models, the buffer holds models; a client that was never seen then has the
    receiver's own, which changes nothing.
    """
    total = mix(ledger[SENT], coefficient, info.parent, info.receivers)
    if models_of is None:
        return total
    seen = group_sum(coefficient.double() * (ledger[AGE] >= 0), info.parent, info.receivers)
    return total - seen.to(models_of).unsqueeze(1) * models_of


def mix(rows: Tensor, coefficient: Tensor, parent: Tensor, receivers: int) -> Tensor:
    """Weighted sums ``out[r] = sum_{u: parent_u = r} coefficient_u rows_u``; ``rows [C, d]``, result ``[R, d]``."""
    matrix = torch.zeros(receivers, len(rows), dtype=torch.float64)
    matrix[parent, torch.arange(len(rows))] = coefficient.double()
    return matrix.to(rows) @ rows


def refuse_literal(never_seen: NeverSeen, buffer: Buffer) -> None:
    """Refuse ``never_seen: literal`` without a buffer of gradients: the published ``w/eta`` is a gradient."""
    if never_seen == "literal" and buffer != "gradients":
        reason = "the published contribution w/eta is a gradient, but this buffer stores no gradients"
        raise SpecError(Problem("algorithm.never_seen", reason, "use nothing, or buffer: gradients", never_seen))
