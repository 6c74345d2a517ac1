"""Figure 4 of W-HFL: its bound (33) on the loss, as printed, for one, two and four cluster iterations and ideal links.

The bound does not hold as printed (see ``fedradio.theory.whfl``); this shows what it says. Run:
python examples/whfl_bound.py [--layouts 5] [--iterations 400]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import torch

from fedradio import Clock, Printed, Rng, clusters, figure_4, loss_33, power_law


def setting(layout: int) -> Printed:
    """The gains of one layout of four clusters of five clients."""
    topology = clusters(Rng(1), layout=layout)
    near, far = (power_law().realise(topology.site(hop, Clock(0)), {}, Rng(0))[0] for hop in (0, 1))
    return Printed(gain=near.gain, edge_gain=far.gain[0])


def main() -> None:
    """Print the bound at the end of so many cluster iterations, one row a layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=400)
    args = parser.parse_args()
    print(f"| loss bound (33) as printed, {args.iterations} iterations | ideal | I=1 | I=2 | I=4 |")
    print("|---|---|---|---|---|")
    for layout in range(args.layouts):
        base = setting(layout)
        cells = []
        for iterations in (0, 1, 2, 4):
            eta, amplitude, edge = figure_4(args.iterations // max(iterations, 1))
            chosen = replace(base, iterations=max(iterations, 1))
            bound = loss_33(chosen, eta) if iterations == 0 else loss_33(chosen, eta, amplitude, edge)
            cells.append(f"{float(torch.as_tensor(bound)[-1]):.4g}")
        print(f"| layout {layout} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
