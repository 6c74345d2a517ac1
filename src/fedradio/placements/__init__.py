"""Placements: which files an edge keeps (``kinds``), how caches are placed and how they serve (``service``)."""

from fedradio.placements import kinds

__all__ = ["kinds"]
