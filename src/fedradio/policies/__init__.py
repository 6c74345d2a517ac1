"""Who takes part, with which resources."""

from fedradio.policies import budget, fixed, joint, per_client, ramp, sampling

__all__ = ["budget", "fixed", "joint", "per_client", "ramp", "sampling"]
