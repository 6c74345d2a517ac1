"""Policies: client selection and allocation of local steps, CPU and transmit power."""

from fedradio.policies import budget, fixed, joint, per_client, ramp, sampling

__all__ = ["budget", "fixed", "joint", "per_client", "ramp", "sampling"]
