"""Who takes part, with which resources."""

from fedradio.policies import budget, fixed, joint, sampling

__all__ = ["budget", "fixed", "joint", "sampling"]
