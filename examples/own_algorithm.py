"""An algorithm of one's own in one file: federated averaging with momentum on the receiver's side (FedAvgM).

With ``D`` the weighted mean of the clients' changes, ``v = beta v + D`` and ``w = w + eta_g v``.
By hand, with ``beta = 0.5``, ``eta_g = 1`` and ``D = 1`` twice: ``v = 1, 1.5`` and ``w = 1, 2.5``.
Run it with ``python examples/own_algorithm.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Arg, Delivery, FedAvg, Held, Info, Memory, Merged, load_spec, register, run


@dataclass(frozen=True)
class FedAvgM(FedAvg):
    """``shared``: the model ``w``; ``receiver``: its velocity ``v``. Clients do what they do in federated averaging."""

    momentum: float = 0.9

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        return Memory(shared={"w": w}, receiver={"v": w.new_zeros(receivers, len(w))})

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """``delivery.total[:, 0] [R, d]`` is ``D`` of every receiver: the link has summed already."""
        v = self.momentum * held.receiver["v"] + delivery.total[:, 0]
        w = held.shared["w"] + self.server_lr * v
        return Merged(Held({"w": w}, held.ledger, {"v": v}))


@register("algorithm", "my_fedavgm", paper="Hsu, Qi, Brown, arXiv:1909.06335")
def my_fedavgm(
    *,
    momentum: Annotated[float, Arg("momentum beta; 0 is fedavg", ge=0, lt=1)] = 0.9,
    server_lr: Annotated[float, Arg("global learning rate eta_g", gt=0, le=1e4)] = 1.0,
) -> FedAvgM:
    """Federated averaging whose merged change has momentum: steady directions add up, noise cancels."""
    return FedAvgM(server_lr=server_lr, momentum=momentum)


def main() -> None:
    for algorithm in ("fedavg", "{kind: my_fedavgm, momentum: 0.5}"):
        summary = run(load_spec("digits_flat", [f"algorithm={algorithm}", "rounds=20"]))
        print(f"{algorithm:<32} accuracy {summary.accuracy:.3f} after {summary.rounds} rounds")


if __name__ == "__main__":
    main()
