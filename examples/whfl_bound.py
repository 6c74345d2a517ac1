"""Figure 4 of W-HFL: its bound (33) on the loss, as printed, for ideal links, one, two and four cluster iterations, and
conventional FL, whose bound is a limit that is printed nowhere.

The bound does not hold as printed (see ``fedradio.theory.whfl``); this shows what it says. Run:
python examples/whfl_bound.py [--layouts 5] [--iterations 400]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import torch

from fedradio import Clock, Printed, Rng, clusters, figure_4, loss_33, power_law
from fedradio.network.clusters import without_edges


def settings(layout: int) -> tuple[Printed, Printed]:
    """The gains of one layout of four clusters of five clients, with edges and straight to the server."""
    topology = clusters(Rng(1), layout=layout)
    flat = without_edges(topology)
    sites = [topology.site(0, Clock(0)), topology.site(1, Clock(0)), flat.site(0, Clock(0))]
    near, far, straight = (power_law().realise(site, {}, Rng(0))[0].gain for site in sites)
    return Printed(gain=near, edge_gain=far[0]), Printed(gain=straight, edge_gain=torch.ones(1))


def main() -> None:
    """Print the bound at the end of so many cluster iterations, one row a layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=400)
    args = parser.parse_args()
    columns = "ideal | I=1 | I=2 | I=4 | flat, P_t | flat, .5 P_t"
    print(f"| loss bound (33) as printed, {args.iterations} iterations | {columns} |")
    print("|---|---|---|---|---|---|---|")
    for layout in range(args.layouts):
        base, flat = settings(layout)
        cells = []
        for iterations in (0, 1, 2, 4):
            eta, amplitude, edge = figure_4(args.iterations // max(iterations, 1))
            chosen = replace(base, iterations=max(iterations, 1))
            bound = loss_33(chosen, eta) if iterations == 0 else loss_33(chosen, eta, amplitude, edge)
            cells.append(f"{float(torch.as_tensor(bound)[-1]):.4g}")
        eta, amplitude, _ = figure_4(args.iterations)
        cells += [f"{float(loss_33(flat, eta, share * amplitude)[-1]):.4g}" for share in (1.0, 0.5)]
        print(f"| layout {layout} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
