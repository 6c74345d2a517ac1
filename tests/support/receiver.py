"""A receiver that is fed changes made by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg
from fedradio.core.contracts import Delivery, Info, Memory, Slots

COUNTS = torch.tensor([[4, 0], [2, 2], [0, 4], [1, 3]])


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


class Receiver:
    """Feeds changes of single clients to an algorithm, exchange after exchange."""

    def __init__(self, algorithm: FedAvg, w: Tensor, clients: int, parent: list[int] | None = None) -> None:
        self.algorithm = algorithm
        self.parent = torch.tensor(parent or [0] * clients)
        self.receivers = int(self.parent.max()) + 1
        memory: Memory = algorithm.init(w, clients)
        self.shared: Slots = {name: v.repeat(self.receivers, 1) for name, v in memory.shared.items()}
        self.ledger = memory.ledger
        self.signals: Slots = {}

    def get(self, changes: dict[int, Tensor], steps: dict[int, float] | None = None) -> Tensor:
        """The model after these clients' payloads; ``steps``: their effective local steps."""
        ids = torch.tensor(list(changes), dtype=torch.long)
        size = self.shared["w"].shape[1]
        rows = torch.stack(list(changes.values())) if changes else torch.zeros(0, size, dtype=torch.float64)
        announced = {
            "samples": torch.tensor([10, 30, 20, 40])[: len(self.parent)],
            "label_counts": COUNTS[: len(self.parent)],
        }
        known = {name: values[ids] for name, values in announced.items()}
        known["effective"] = vector(*(steps or dict.fromkeys(changes, 1.0)).values())
        here = torch.ones(len(ids), dtype=torch.bool)
        group = self.parent[ids]
        info = Info(ids, group, self.receivers, self.parent, here, here.double(), known, announced)
        total = torch.zeros(self.receivers, 1, size, dtype=torch.float64)
        weight = self.algorithm.weights(self.ledger, info)
        total.index_add_(0, group, (weight.unsqueeze(1) * rows).unsqueeze(1))
        delivery = Delivery(total, rows.unsqueeze(1), None)
        self.shared, self.ledger, self.signals = self.algorithm.merge(self.shared, self.ledger, delivery, info)
        return self.shared["w"][0]


def info(arrived: list[bool] | None = None, expect: float = 1.0) -> Info:
    """Four clients of two receivers with 10, 30, 5, 15 samples and 1, 2, 4, 4 effective steps."""
    got = torch.tensor(arrived or [True] * 4)
    known = {
        "samples": torch.tensor([10, 30, 5, 15]),
        "effective": torch.tensor([1.0, 2.0, 4.0, 4.0], dtype=torch.float64),
    }
    group = torch.tensor([0, 0, 1, 1])
    return Info(torch.arange(4), group, 2, group, got, torch.full((4,), expect).double(), known)
