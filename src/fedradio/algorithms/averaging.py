"""Averaging of the clients' changes, as functions: masses, shares, and the model after a weighted total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from fedradio.core.contracts import MODEL, Delivery, Held, Info, Merged
from fedradio.core.params import group_share
from fedradio.core.registry import Arg

Weighting = Literal["samples", "equal"]

SIZES = Arg("weight clients by their number of samples, or equally")
SERVER_LR = Arg("global learning rate eta_g", gt=0, le=1e4)


def sizes_revealed(weighting: Weighting) -> frozenset[str]:
    """What receivers have to know of a client for its mass."""
    return frozenset({"samples"}) if weighting == "samples" else frozenset()


def sizes(weighting: Weighting, known: Mapping[str, Tensor], clients: int) -> Tensor:
    """Mass of each client, ``[n]``: its number of samples, or 1."""
    if weighting == "samples":
        return known["samples"].double()
    return torch.ones(clients, dtype=torch.float64)


def shares_of_arrived(mass: Tensor, info: Info) -> Tensor:
    """Shares ``[A]`` of the clients with ``mass [A]`` among those of their receiver whose payloads arrived."""
    return group_share(mass * info.arrived, info.group, info.receivers)


def shares_of_all(mass: Tensor, info: Info) -> Tensor:
    """Shares ``[C]`` of the clients with ``mass [C]`` among all clients of their receiver, active or not."""
    return group_share(mass, info.parent, info.receivers)


def add_total(held: Held, delivery: Delivery, server_lr: float = 1.0) -> Merged:
    """The receivers' models after the first block of the total: ``w += eta_g total``."""
    return Merged(Held({MODEL: held.shared[MODEL] + server_lr * delivery.total[:, 0]}, held.ledger, held.receiver))
