"""A placement of one's own in one file: a cell that has counted little borrows the counts of all cells.

``v_bn = rate_b (counts_bn + k s_n) / (sum_n counts_bn + k)``, where ``s_n`` is file n's share of all cells' requests:
as if the cell had seen ``k`` requests more, shared out like everybody's.
By hand: counts 3 and 1, shares .5 and .5, k = 4, one request a slot: 5/8 and 3/8.
Run it with ``python examples/own_placement.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Arg, CacheView, Placement, load_spec, register, run


@dataclass(frozen=True)
class Borrowed(Placement):
    """See :func:`borrowed`."""

    k: float
    name = "borrowed"

    def scores(self, view: CacheView) -> Tensor:
        counts = view.counts.double()
        shares = counts.sum(dim=0) / counts.sum().clamp(min=1)
        return view.edge_rate[:, None] * (counts + self.k * shares) / (counts.sum(dim=1, keepdim=True) + self.k)


@register("placement", "borrowed")
def borrowed(*, k: Annotated[float, Arg("requests of all cells that count in each", gt=0, le=1e6)] = 20.0) -> Borrowed:
    """The files asked for most often in the cell, with some requests of all cells added."""
    return Borrowed(k)


def main() -> None:
    quick = ["rounds=10", "model=logistic", "hops.0.policy={kind: fixed, steps: 1}", "eval_every=10"]
    done = run(load_spec("rawhfl", [*quick, "cache={placements: [cell_popular, popular, borrowed, oracle]}"]))
    assert done.cache is not None
    for name, shelf in done.cache.shelves.items():
        print(f"{name:<14} hits {100 * (shelf.hit_ratio or 0):.1f} %   files a request {shelf.files:.3f}")


if __name__ == "__main__":
    main()
