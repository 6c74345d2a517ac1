"""How payloads become sums."""

from fedradio.links import digital, ideal

__all__ = ["digital", "ideal"]
