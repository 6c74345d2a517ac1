"""Device fleets: CPUs, transmitters and energy budgets, and the seconds and joules of using them."""

from fedradio.fleet import profile

__all__ = ["profile"]
