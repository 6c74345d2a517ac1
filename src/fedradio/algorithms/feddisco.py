"""FedDisco: averaging weights discounted by the discrepancy of a client's labels from uniform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.averaging import SERVER_LR, add_total, shares_of_arrived
from fedradio.algorithms.ledger import BUFFER, Buffer, ledger_of
from fedradio.core.contracts import Algorithm, Delivery, Held, Info, Ledger, Merged
from fedradio.core.registry import Arg, register

Distance = Literal["l2", "kl"]


@dataclass(frozen=True)
class FedDisco(Algorithm):
    """Averaging discounted by label discrepancy, see :func:`feddisco`."""

    a: float = 0.2
    b: float = 0.1
    distance: Distance = "l2"
    server_lr: float = 1.0
    ledger: Ledger | None = None
    reveals = frozenset({"samples", "label_counts"})

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return known["samples"].double()

    def weights(self, held: Held, info: Info) -> Tensor:
        """Weights (83), normalised over the arrived; with a ledger over all clients."""
        share = shares_of_arrived(info.known["samples"].double(), info)
        return shares_of_arrived(self.discounted(share, info.known), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return add_total(held, delivery, self.server_lr)

    def discounted(self, share: Tensor, known: Mapping[str, Tensor]) -> Tensor:
        """Discounted shares ``ReLU(p_u - a d_u + b)``, ``[n]``."""
        return torch.relu(share - self.a * discrepancy(known["label_counts"], self.distance) + self.b)


def discrepancy(counts: Tensor, distance: Distance) -> Tensor:
    """Distance of each client's label distribution from uniform, ``[n]``, from ``counts [n, classes]``.

    ``l2``: ``|p - 1/n|_2``; ``kl``: ``sum p log p + log n``. By hand, one of two classes: ``sqrt(.5)`` and ``log 2``.
    """
    shares = counts.double() / counts.sum(dim=1, keepdim=True).clamp(min=1)
    classes = shares.shape[1]
    if distance == "l2":
        return (shares - 1.0 / classes).square().sum(dim=1).sqrt()
    return torch.xlogy(shares, shares * classes).sum(dim=1)


@register("algorithm", "feddisco", paper="Ye et al., ICML 2023; OSAFL, eq. (83) and Algorithm 10 (buffer: models)")
def feddisco(
    *,
    a: Annotated[float, Arg("weight of the discrepancy; a = 0 with b = 0 is fedavg", ge=0, le=1e4)] = 0.2,
    b: Annotated[float, Arg("added to every weight", ge=0, le=1e4)] = 0.1,
    distance: Annotated[Distance, Arg("distance between a client's label distribution and the uniform one")] = "l2",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
) -> FedDisco:
    """FedDisco, averaging with weights ``ReLU(p_u - a d_u + b)``: data share minus label discrepancy, normalised.

    If every weight is 0 (a large ``a``), the model does not change.
    """
    return FedDisco(server_lr=server_lr, ledger=ledger_of(buffer), a=a, b=b, distance=distance)
