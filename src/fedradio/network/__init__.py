"""Network topologies and radio channels."""

from fedradio.network import channel, clusters, nodes, power_law, topology, trace

__all__ = ["channel", "clusters", "nodes", "power_law", "topology", "trace"]
