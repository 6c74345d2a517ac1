"""Every built-in part: importing this module registers them all."""

from fedradio import (
    algorithms,
    data,
    engine,
    fleet,
    gathers,
    links,
    losses,
    metrics,
    models,
    network,
    placements,
    policies,
    receivers,
    transforms,
)

__all__ = [
    "algorithms",
    "data",
    "engine",
    "fleet",
    "gathers",
    "links",
    "losses",
    "metrics",
    "models",
    "network",
    "placements",
    "policies",
    "receivers",
    "transforms",
]
