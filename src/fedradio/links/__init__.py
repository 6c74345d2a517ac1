"""How payloads become sums."""

from fedradio.links import digital, ideal, over_the_air

__all__ = ["digital", "ideal", "over_the_air"]
