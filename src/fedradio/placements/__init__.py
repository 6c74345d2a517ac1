"""Placements: which files an edge keeps, how caches are placed and how they serve."""

from fedradio.placements import counting, foreseeing, recency, yardsticks

__all__ = ["counting", "foreseeing", "recency", "yardsticks"]
