"""FedDisco: weights by the discrepancy of labels, by hand."""

import pytest
from support.receiver import COUNTS, Receiver, vector

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.feddisco import discrepancy, feddisco


def test_feddisco_by_hand() -> None:
    """Eq. (83): d = sqrt(.5) for one class of two and 0 for both; shares .25, .75, a = .2, b = .1."""
    assert discrepancy(COUNTS, "l2").tolist() == pytest.approx([0.5**0.5, 0.0, 0.5**0.5, 0.125**0.5])
    assert discrepancy(COUNTS[:2], "kl").tolist() == pytest.approx([0.6931472, 0.0])
    first, second = 0.25 - 0.2 * 0.5**0.5 + 0.1, 0.75 + 0.1
    for buffer in ("none", "models", "gradients"):
        server = Receiver(feddisco(buffer=buffer), vector(0.0), 2)
        moved = server.get({0: vector(2.0), 1: vector(4.0)}).item()
        assert moved == pytest.approx((2 * first + 4 * second) / (first + second))


def test_feddisco_without_discount_is_fedavg() -> None:
    a, b = (Receiver(algorithm, vector(0.0), 3) for algorithm in (feddisco(a=0.0, b=0.0), fedavg()))
    changes = {0: vector(2.0), 1: vector(4.0), 2: vector(-1.0)}
    assert a.get(changes).item() == pytest.approx(b.get(changes).item())
