"""An algorithm of one's own with a ledger: absent clients count with their last change, the less the older it is.

With ``p_u`` a client's share and ``n_u`` the exchanges since it last arrived, the model moves by the sum over all
clients ``w += sum_u p_u 2^(-n_u / h) D_u``. By hand, two equal clients with changes 2 and 4 and ``h = 1``: both arrive,
``w += 3``; then only the first comes, with change 2, and ``w += 2/2 + 4/2/2 = 2``.
Use it with ``--parts examples/own_ledger.py`` and ``algorithm: fading``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Algorithm, Arg, Delivery, Held, Info, Ledger, Merged, Slots, add_total, register, shares_of_arrived


@dataclass(frozen=True)
class Fading(Algorithm):
    """See :func:`fading`."""

    half_life: float
    ledger = Ledger()

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def coefficients(self, held: Held, info: Info) -> tuple[Slots, Tensor]:
        """Shares of all clients, halved every ``half_life`` exchanges that a client is away."""
        ledger, share = super().coefficients(held, info)
        return ledger, share * 0.5 ** (ledger["age"].clamp(min=0) / self.half_life)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """``delivery.total`` is the sum over all clients that the ledger remembers."""
        return add_total(held, delivery)


@register("algorithm", "fading")
def fading(*, half_life: Annotated[float, Arg("exchanges after which a change counts half", gt=0)] = 2.0) -> Fading:
    """Averaging over all clients: changes of absent ones count the less, the older they are."""
    return Fading(half_life)
