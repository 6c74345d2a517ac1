"""Where nodes are and what the air does."""

from fedradio.network import channel, topology

__all__ = ["channel", "topology"]
