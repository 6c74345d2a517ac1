"""A file of parts as a user would write it: an algorithm that sends half of what it has learnt."""

HALVED = '''"""An algorithm of my own."""

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio import Arg, FedAvg, register


@dataclass(frozen=True)
class Shortened(FedAvg):
    share: float = 0.5

    def upload(self, cohort, trained, work) -> Tensor:
        return self.share * super().upload(cohort, trained, work)


@register("algorithm", "shortened")
def shortened(*, share: Annotated[float, Arg("how much of its change a client sends", ge=0, le=1)] = 0.5) -> Shortened:
    """FedAvg whose clients send a share of their change."""
    return Shortened(share=share)
'''
