"""Where nodes are and what the air does."""

from fedradio.network import channel, clusters, power_law, topology

__all__ = ["channel", "clusters", "power_law", "topology"]
