"""W-HFL on MNIST over several layouts: `make paper`. Nothing is claimed of a single layout."""

from statistics import mean

import pytest

from fedradio.core.errors import DataError
from fedradio.data.cache import load
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

pytestmark = pytest.mark.paper


def final(name: str, layout: int, seed: int = 1) -> float:
    """Accuracy in percent after 400 cluster iterations."""
    try:
        load("mnist")
    except DataError as error:
        pytest.skip(str(error))
    spec = load_spec(f"whfl/mnist/{name}", [f"topology.layout={layout}", f"seed={seed}"])
    sim = build(spec)
    state = begin(sim)
    for done in range(1, spec.rounds + 1):
        state, record, _ = run_round(sim, state, evaluate=done == spec.rounds)
    return 100 * record.metrics["accuracy"]


def test_iid_over_eight_layouts() -> None:
    """Without errors 92.8 +- .4; over clusters at least 1.5 points above flat on the mean, ahead on six layouts."""
    assert final("iid/ideal", 0) == pytest.approx(92.8, abs=0.4)
    gaps = [final("iid/i1", layout) - final("iid/flat", layout) for layout in range(8)]
    assert mean(gaps) >= 1.5, gaps
    assert sum(gap > 0 for gap in gaps) >= 6, gaps


def test_three_labels_a_client_over_five_layouts_and_two_splits() -> None:
    """5.3 points measured; with the split of seed 1 alone it is 2.9, with that of seed 2 7.7."""
    worlds = [(layout, seed) for seed in (1, 2) for layout in range(5)]
    gaps = [final("noniid/i1", *world) - final("noniid/flat", *world) for world in worlds]
    assert mean(gaps) >= 4.0, gaps
