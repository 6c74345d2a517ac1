"""Local costs, as functions of the networks' outputs."""

from fedradio.losses import cross_entropy, distil, moon, squared_error

__all__ = ["cross_entropy", "distil", "moon", "squared_error"]
