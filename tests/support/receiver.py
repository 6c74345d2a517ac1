"""Cohorts and receivers that are fed changes made by hand."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fedradio.algorithms.ledger import filings, merge_ledger, start_memory
from fedradio.core.contracts import Algorithm, Clock, Cohort, Delivery, Held, Info, Memory, Slots
from fedradio.core.contracts.algorithm import SENT
from fedradio.core.rng import Rng

COUNTS = torch.tensor([[4, 0], [2, 2], [0, 4], [1, 3]])


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def cohort(got: Slots, mine: Slots, row: Tensor | None = None, damping: float = 1.0) -> Cohort:
    """Clients 0, 1, ... with these slots, of receiver 0 without more said."""
    clients = len(next(iter(mine.values()))) if row is None else len(row)
    rows = torch.zeros(clients, dtype=torch.long) if row is None else row
    return Cohort(torch.arange(clients), rows, got, mine, Clock(0), Rng(0), damping)


def knowledge(
    ids: Tensor, parent: Tensor, known: Slots, announced: Slots | None = None, arrived: Tensor | None = None
) -> Info:
    """What receivers know of the clients ``ids``, all of whom arrive for sure without more said."""
    here = torch.ones(len(ids), dtype=torch.bool) if arrived is None else arrived
    return Info(
        ids=ids,
        group=parent[ids],
        receivers=int(parent.max()) + 1,
        parent=parent,
        arrived=here,
        expect=here.double(),
        known=known,
        clock=Clock(0),
        rng=Rng(0),
        announced=announced or {},
    )


class Receiver:
    """Feeds changes of single clients to an algorithm, exchange after exchange."""

    def __init__(self, algorithm: Algorithm, w: Tensor, clients: int, parent: list[int] | None = None) -> None:
        self.algorithm = algorithm
        self.parent = torch.tensor(parent or [0] * clients)
        self.receivers = int(self.parent.max()) + 1
        memory: Memory = start_memory(algorithm, w, clients, self.receivers)
        shared = {name: v.repeat(self.receivers, 1) for name, v in memory.shared.items()}
        self.held = Held(shared, memory.ledger, memory.receiver)
        self.signals: Slots = {}

    def get(self, changes: dict[int, Tensor], steps: dict[int, float] | None = None) -> Tensor:
        """The model after these clients' payloads; ``steps``: their effective local steps."""
        ids = torch.tensor(list(changes), dtype=torch.long)
        size = self.held.shared["w"].shape[1]
        rows = torch.stack(list(changes.values())) if changes else torch.zeros(0, size, dtype=torch.float64)
        announced = {
            "samples": torch.tensor([10, 30, 20, 40])[: len(self.parent)],
            "label_counts": COUNTS[: len(self.parent)],
        }
        known = {name: values[ids] for name, values in announced.items()}
        known["effective"] = vector(*(steps or dict.fromkeys(changes, 1.0)).values())
        info = knowledge(ids, self.parent, known, announced)
        total = torch.zeros(self.receivers, 1, size, dtype=torch.float64)
        weight = self.algorithm.weights(self.held, info)
        total.index_add_(0, info.group, (weight.unsqueeze(1) * rows).unsqueeze(1))
        delivery = Delivery(total, rows.unsqueeze(1), None)
        if self.algorithm.ledger is None:
            merged = self.algorithm.merge(self.held, delivery, info)
        else:
            slots, w = self.held.ledger, self.held.shared["w"]
            for filed, uploads in filings(self.algorithm.ledger, slots, delivery, info, w):
                slots[SENT].index_copy_(0, filed, uploads)
            merged, _ = merge_ledger(self.algorithm, self.held, delivery, info)
        self.held, self.signals = merged.held, merged.published
        return self.held.shared["w"][0]


def info(arrived: list[bool] | None = None, expect: float = 1.0) -> Info:
    """Four clients of two receivers with 10, 30, 5, 15 samples and 1, 2, 4, 4 effective steps."""
    got = torch.tensor(arrived or [True] * 4)
    known = {
        "samples": torch.tensor([10, 30, 5, 15]),
        "effective": torch.tensor([1.0, 2.0, 4.0, 4.0], dtype=torch.float64),
    }
    told = knowledge(torch.arange(4), torch.tensor([0, 0, 1, 1]), known, arrived=got)
    return replace(told, expect=torch.full((4,), expect).double())


NOTHING = Held({})
"""Receivers that have nothing."""
