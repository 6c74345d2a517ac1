"""A link of one's own in one file: a payload is lost with a fixed probability, what arrives is exact.

Everything else is that of the ideal link, so ``loss: 0`` equals ``ideal`` bit for bit.
Run it with ``python examples/own_link.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from fedradio import Airtime, Arg, Exchange, Ideal, LinkTrait, Reason, Rng, Slots, load_spec, register, run


@dataclass(frozen=True)
class Erasure(Ideal):
    """See :func:`erasure`."""

    loss: float = 0.1

    @property
    def offers(self) -> frozenset[LinkTrait]:
        """Single payloads; all that are in time arrive only without losses."""
        return super().offers if self.loss == 0 else super().offers - {"lossless"}

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """Who arrives is settled before a payload exists; ``expect [S]`` is the probability to arrive."""
        airtime = super().plan(x, state, rng)
        kept = torch.from_numpy(rng.child("erasure").numpy().random(x.senders)) >= self.loss
        return replace(
            airtime,
            arrived=airtime.arrived & kept,
            expect=airtime.expect * (1.0 - self.loss),
            reason=torch.where(airtime.arrived & ~kept, int(Reason.OUTAGE), airtime.reason),
        )


@register("link", "erasure")
def erasure(
    *,
    loss: Annotated[float, Arg("probability that a payload is lost; 0 is ideal", ge=0, lt=1)] = 0.1,
    bits_per_value: Annotated[float, Arg("bits per number of the payload", unit="bit", gt=0, le=1024)] = 32.0,
) -> Erasure:
    """Exact weighted sums of the payloads that are not lost, no airtime, no transmit energy."""
    return Erasure(bits_per_value, loss)


def main() -> None:
    for loss in (0.0, 0.5):
        for normalise in ("arrived", "inverse"):
            link = f"hops.0.link={{kind: erasure, loss: {loss}}}"
            summary = run(load_spec("digits_flat", [link, f"algorithm.normalise={normalise}", "rounds=20"]))
            print(f"loss {loss:.1f}  normalise {normalise:<8}  accuracy {summary.accuracy:.3f}")


if __name__ == "__main__":
    main()
