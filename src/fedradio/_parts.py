"""Every built-in part: importing this module registers them all."""

from fedradio import algorithms, data, engine, fleet, links, models, network, policies

__all__ = ["algorithms", "data", "engine", "fleet", "links", "models", "network", "policies"]
