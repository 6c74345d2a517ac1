"""Device fleets: CPUs, transmitters and energy budgets, and the seconds and joules of using them."""

from fedradio.fleet import devices, profile

__all__ = ["devices", "profile"]
