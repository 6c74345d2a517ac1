"""What clients send and what receivers do with it."""

from fedradio.algorithms import fedavg, fednova, scaffold

__all__ = ["fedavg", "fednova", "scaffold"]
