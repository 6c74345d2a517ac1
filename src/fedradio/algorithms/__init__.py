"""Federated learning algorithms."""

from fedradio.algorithms import apfl, fedavg, fedcpsl, feddisco, fednova, osafl, scaffold

__all__ = ["apfl", "fedavg", "fedcpsl", "feddisco", "fednova", "osafl", "scaffold"]
