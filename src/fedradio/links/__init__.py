"""How payloads become sums."""

from fedradio.links import ideal

__all__ = ["ideal"]
