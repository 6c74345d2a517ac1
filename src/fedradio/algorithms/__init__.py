"""Federated learning algorithms."""

from fedradio.algorithms import (
    apfl,
    fedavg,
    fedcpsl,
    feddisco,
    feddyn,
    fednova,
    osafl,
    scaffold,
    server_optimisers,
)

__all__ = [
    "apfl",
    "fedavg",
    "fedcpsl",
    "feddisco",
    "feddyn",
    "fednova",
    "osafl",
    "scaffold",
    "server_optimisers",
]
