"""W-HFL: in how many layouts do clusters receive less noise than flat aggregation, with and without our rejection rule?

The paper draws edges and clients at random. ``topology.layouts: spaced`` rejects layouts in which two edges are closer
than 2 or a client is closer than 0.5 to the server. This script draws layouts by both rules and compares the mean
squared error of a sum over the air, cluster by cluster and then at the server, with that of flat aggregation: the part
that receiver noise causes, and the whole error, if the clients' changes are independent and if they are equal.
Gains are d^-4, the noise is 10, the server and the edges have 100 antennas, clients send with amplitude 0.5 and edges
with 20, as in the first round with one cluster iteration.

Run: python examples/whfl_layouts.py (about half a minute)
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from rich.progress import track

from fedradio.core.contracts import Topology
from fedradio.core.rng import Rng
from fedradio.network.clusters import Layouts, clusters
from fedradio.theory.whfl import AggregationError, Moments, aggregation_error, flat_error

AMPLITUDE, EDGE_AMPLITUDE, NOISE = 0.5, 20.0, 10.0


def changes(clients: int, correlation: float) -> Moments:
    """Changes of power 1 per symbol, each pair with this correlation."""
    gram = torch.full((clients, clients), correlation, dtype=torch.float64).fill_diagonal_(1.0)
    return Moments(gram, torch.ones(clients, dtype=torch.float64), 1)


def errors(topology: Topology, correlation: float) -> tuple[AggregationError, AggregationError]:
    """Error of one exchange per symbol: in clusters, and of the same clients in a flat network."""
    clients, edges, _ = topology.positions
    sent = changes(len(clients), correlation)
    two_hops = aggregation_error(
        torch.cdist(edges, clients) ** -4,
        topology.parents[0],
        edges.norm(dim=1) ** -4,
        sent,
        amplitude=AMPLITUDE,
        edge_amplitude=EDGE_AMPLITUDE,
        noise=NOISE,
    )
    return two_hops, flat_error(clients.norm(dim=1) ** -4, sent, AMPLITUDE, NOISE)


def shares(layouts: Layouts, number: int, seed: int) -> tuple[float, float, float]:
    """Shares of layouts in which clusters have less noise, less error with independent changes, and with equal ones."""
    less = []
    for layout in track(range(number), f"layouts {layouts}"):
        topology = clusters(Rng(seed), layouts=layouts, layout=layout)
        (two, flat), (two_equal, flat_equal) = errors(topology, 0.0), errors(topology, 1.0)
        less.append(
            (two.noise + two.edge_noise < flat.noise, two.total < flat.total, two_equal.total < flat_equal.total)
        )
    noise, independent, equal = np.mean(less, axis=0)
    return float(noise), float(independent), float(equal)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layouts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rules: tuple[Layouts, Layouts] = ("as_printed", "spaced")
    for rule in rules:
        noise, independent, equal = shares(rule, options.layouts, options.seed)
        print(f"{rule:10}  less noise {noise:.1%}; less error: independent {independent:.1%}, equal {equal:.1%}")


if __name__ == "__main__":
    main()
