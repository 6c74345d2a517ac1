"""Network topologies and radio channels."""

from fedradio.network import channel, clusters, power_law, topology, trace

__all__ = ["channel", "clusters", "power_law", "topology", "trace"]
