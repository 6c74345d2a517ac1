"""Where nodes are and what the air does."""

from fedradio.network import topology

__all__ = ["topology"]
