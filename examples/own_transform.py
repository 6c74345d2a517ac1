"""A transform of one's own in one file: every number is rounded to a multiple of a step.

By hand: at a step of .5 the numbers .7, -.2 and 1.3 become .5, 0 and 1.5.
Run it with ``python examples/own_transform.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fedradio import Arg, Coded, Message, Rng, Sent, Slots, Transform, View, load_spec, register, run


@dataclass(frozen=True)
class Rounded(Transform):
    """See :func:`rounded`. Sums of rounded payloads mean something, so it works on links that only give sums."""

    step: float

    def message(self, before: Message) -> Message:
        """As many numbers and bits as before; rounded up, they may be longer than a `clip` before it allows."""
        return replace(before, norm=None)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        """``payload [A, k, d]`` of the active senders; what receivers decode is what is sent."""
        return Coded((sent.payload / self.step).round() * self.step)


@register("transform", "rounded")
def rounded(*, step: Annotated[float, Arg("numbers become multiples of it", gt=0, le=1e6)] = 0.01) -> Rounded:
    """Rounding to multiples of a step; the error is lost unless `feedback` stands in front."""
    return Rounded(step)


def main() -> None:
    for transforms in ("[]", "[{kind: rounded, step: 0.05}]", "[feedback, {kind: rounded, step: 0.05}]"):
        summary = run(load_spec("digits_flat", [f"hops.0.transforms={transforms}", "rounds=20"]))
        print(f"{transforms:<42} accuracy {summary.accuracy:.3f}")


if __name__ == "__main__":
    main()
