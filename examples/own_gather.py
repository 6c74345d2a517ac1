"""A gather of one's own: receivers merge as soon as the first so many updates are there, the others later.

By hand: of updates due after 1, 2 and 5 s, the first two are merged after 2 s, and the third is then due after 3 s. An
update that the link loses counts among the first ones, when its upload ends; so fewer than these may move the model.
Run it with ``python examples/own_gather.py``.
"""

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Arg, Gather, load_spec, register, run

SPEC = [
    "hops.0.policy={kind: fixed, steps: 8}",
    "hops.0.channel=urban_macro",
    "hops.0.link=digital",
    "hops.0.fleet={kind: cellular, f_max_hz: [1.0e+7, 2.0e+9]}",
]


@dataclass(frozen=True)
class FirstSome(Gather):
    """The first ``clients`` updates are merged; an update that ``n`` merges passed over counts ``1 / sqrt(1 + n)``."""

    clients: int

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        end_s = float(due_s.sort().values[: self.clients][-1])
        return due_s <= end_s, end_s

    def weight(self, staleness: Tensor) -> Tensor:
        return (1.0 + staleness.double()) ** -0.5


@register("gather", "first_some")
def first_some(*, clients: Annotated[int, Arg("updates that receivers wait for", ge=1)] = 5) -> FirstSome:
    """First come, first merged: receivers wait for some updates and merge the others later."""
    return FirstSome(clients)


def main() -> None:
    for gather, rounds in (("all", 10), ("first_some", 40)):
        made = run(load_spec("digits_flat", [*SPEC, f"hops.0.gather={gather}", f"rounds={rounds}"]))
        print(f"{gather:10}  {rounds} rounds  {made.time_s:.2f} s  accuracy {made.accuracy:.3f}")


if __name__ == "__main__":
    main()
