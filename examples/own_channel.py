"""A channel of one's own in one file: path loss with shadowing that lasts for a while.

``gain = d^-4 10^(sigma z/10)``, where z is a normal number of every pair that moves from exchange to exchange by
``z = r z + sqrt(1 - r^2) n``. The memory is checkpointed like everything else.
Run it with ``python examples/own_channel.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Annotated

import torch

from fedradio import Arg, Channel, ChannelState, Rng, Site, Slots, load_spec, register, run


@dataclass(frozen=True)
class SlowShadows(Channel):
    """See :func:`slow_shadows`."""

    sigma_db: float
    memory: float

    def start(self, senders: int, receivers: int, rng: Rng) -> Slots:
        """Normal numbers ``z [R, S]``: then z has variance 1 in every exchange."""
        return {"z": torch.from_numpy(rng.child("start").numpy().standard_normal((receivers, senders)))}

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """Gains ``[R, S]`` of all pairs; what is new in this exchange is drawn from a child with its clock."""
        fresh = rng.child(site.clock.t, site.clock.e).numpy().standard_normal(state["z"].shape)
        z = self.memory * state["z"] + sqrt(1 - self.memory**2) * torch.from_numpy(fresh)
        distance_m = torch.cdist(site.receivers_m, site.senders_m).clamp(min=1.0)
        return ChannelState(distance_m**-4 * 10 ** (self.sigma_db * z / 10), noise_w_hz=4e-21), {"z": z}


@register("channel", "slow_shadows")
def slow_shadows(
    *,
    sigma_db: Annotated[float, Arg("standard deviation of the shadowing", unit="dB", ge=0, le=50)] = 6.0,
    memory: Annotated[float, Arg("correlation from one exchange to the next", ge=0, le=1)] = 0.9,
) -> SlowShadows:
    """Path loss ``d^-4`` with log-normal shadowing that changes slowly."""
    return SlowShadows(sigma_db, memory)


def main() -> None:
    radio = "{channel: {kind: slow_shadows, memory: %s}, link: digital, fleet: cellular, deadline_s: 0.02}"
    for memory in (0.0, 0.95):
        made = run(load_spec("digits_flat", [f"hops=[{radio % memory}]", "rounds=20"]))
        arrived = f"{made.arrived:.1f} of {made.clients:.0f} arrive"
        print(f"memory {memory:<5} accuracy {made.accuracy:.3f}  {arrived}")


if __name__ == "__main__":
    main()
