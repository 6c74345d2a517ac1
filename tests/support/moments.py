"""Second moments of given symbols, for the error of W-HFL's aggregation."""

from __future__ import annotations

from torch import Tensor

from fedradio.links.air import symbols
from fedradio.theory.whfl import Moments


def moments(sent: Tensor) -> Moments:
    """Second moments, averaged over the symbols of ``sent [I, U, d]``; with d = 2 those of one symbol."""
    n = symbols(sent.shape[-1])
    summed = sent.double().sum(dim=0)
    return Moments(summed @ summed.T / n, sent.double().square().sum(dim=(0, 2)) / n, len(sent))
