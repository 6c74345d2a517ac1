"""What devices can do, in seconds and joules."""

from fedradio.fleet import profile

__all__ = ["profile"]
