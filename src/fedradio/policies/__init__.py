"""Who takes part, with which resources."""

from fedradio.policies import fixed, sampling

__all__ = ["fixed", "sampling"]
