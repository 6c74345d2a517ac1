"""A local cost of your own: the focal loss, which looks away from samples that are already learned.

f = mean -(1 - h_y)^gamma log h_y; gamma 0 is cross entropy. By hand: h_y = .8, gamma 2: .2^2 * .223144 = .008926.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Arg, Batch, Loss, Outputs, load_spec, register, run


@dataclass(frozen=True)
class Focal(Loss):
    gamma: float = 2.0

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        log_h = out["w"].logits.log_softmax(-1).gather(-1, batch.y.unsqueeze(-1)).squeeze(-1)  # [clients, samples]
        return {"w": batch.mean(-((1.0 - log_h.exp()) ** self.gamma) * log_h)}


@register("loss", "focal")
def focal(*, gamma: Annotated[float, Arg("weight of samples that are not learned yet", ge=0, le=100)] = 2.0) -> Focal:
    """Focal loss: samples whose label is already likely count less."""
    return Focal(gamma)


def main() -> None:
    for loss in ("cross_entropy", "focal"):
        made = run(load_spec("digits_flat", [f"loss={loss}", "rounds=20"]))
        print(f"{loss:14}accuracy {made.accuracy:.3f}")


if __name__ == "__main__":
    main()
