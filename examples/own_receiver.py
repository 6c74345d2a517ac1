"""A receiver rule of one's own in one file: a step that grows from round to round, up to the whole change.

By hand: with 4 steps the first three are 1/4, 2/4 and 3/4 of the merged change, all later ones the change itself.
Run it with ``python examples/own_receiver.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio import Arg, Clock, ReceiverRule, Slots, load_spec, register, run


@dataclass(frozen=True)
class WarmUp(ReceiverRule):
    """See :func:`warm_up`. It counts the steps of every receiver; receivers that heard nobody do not step."""

    steps: int

    def start(self, receivers: int, w: Tensor) -> Slots:
        return {"n": torch.zeros(receivers)}

    def step(self, change: Tensor, heard: Tensor, state: Slots, clock: Clock) -> tuple[Tensor, Slots]:
        n = state["n"] + heard.to(state["n"])
        share = (n / self.steps).clamp(max=1.0) * heard.to(n)
        return share.to(change)[:, None] * change, {"n": n}


@register("receiver", "warm_up")
def warm_up(*, steps: Annotated[int, Arg("steps until the whole change is added", ge=1, le=10_000)] = 5) -> WarmUp:
    """Warm-up: the first steps of a receiver are shorter than the merged change."""
    return WarmUp(steps)


def main() -> None:
    for receiver in ("null", "{kind: warm_up, steps: 10}"):
        summary = run(load_spec("digits_flat", [f"hops.0.receiver={receiver}", "rounds=20"]))
        print(f"{receiver:<28} accuracy {summary.accuracy:.3f}")


if __name__ == "__main__":
    main()
