"""FedAvg on MNIST against expected numbers (means over three seeds): `make paper`."""

from statistics import mean

import pytest

from fedradio.core.errors import DataError
from fedradio.data.cache import load
from fedradio.rounds.round import iterate
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

SEEDS = (1, 2, 3)

pytestmark = pytest.mark.paper


def accuracy_at(name: str, rounds: tuple[int, ...]) -> list[float]:
    """Mean accuracy in percent after each of these rounds."""
    try:
        load("mnist")
    except DataError as error:
        pytest.skip(str(error))
    curves = []
    for seed in SEEDS:
        spec = load_spec(name, [f"seed={seed}"])
        curves.append([record.metrics["accuracy"] for record in iterate(build(spec), max(rounds))])
    return [100 * mean(curve[t - 1] for curve in curves) for t in rounds]


def test_iid_and_two_label_shards() -> None:
    """i.i.d. 94.5 +- .6 at round 20 and 96.7 +- .5 at round 50; two labels per client cost at least 4 points at 20."""
    at_20, at_50 = accuracy_at("mnist_iid", (20, 50))
    assert at_20 == pytest.approx(94.5, abs=0.6)
    assert at_50 == pytest.approx(96.7, abs=0.5)
    (skewed,) = accuracy_at("mnist_shards", (20,))
    assert at_20 - skewed >= 4.0
