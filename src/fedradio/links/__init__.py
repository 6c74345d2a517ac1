"""Uplinks: ideal, digital and over-the-air transmission of payloads to weighted sums."""

from fedradio.links import digital, ideal, over_the_air

__all__ = ["digital", "ideal", "over_the_air"]
