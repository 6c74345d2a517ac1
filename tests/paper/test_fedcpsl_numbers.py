"""FedCPSL and its baselines against expected numbers (means over three seeds): `make paper`."""

from functools import cache
from statistics import mean

import pytest

from fedradio.core.errors import DataError
from fedradio.data.cache import load
from fedradio.rounds.round import iterate
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

SEEDS = (1, 2, 3)

PLAIN = "data.partition.pure=false"

pytestmark = pytest.mark.paper


@cache
def curve(name: str, *overrides: str, rounds: int = 100) -> dict[int, float]:
    """Mean accuracy in percent after every tenth round (digits: every fifth)."""
    every = 5 if name == "fedcpsl" else 10
    if every == 10:
        try:
            load("mnist")
        except DataError as error:
            pytest.skip(str(error))
    curves = []
    for seed in SEEDS:
        records = iterate(build(load_spec(name, [f"seed={seed}", *overrides])), rounds, every)
        curves.append({record.t + 1: record.metrics["accuracy"] for record in records if record.metrics})
    return {t: 100 * mean(found[t] for found in curves) for t in curves[0]}


def test_digits_at_round_25() -> None:
    """Five points ahead of APFL; with the same momentum and own rate APFL is about as good."""
    ours, apfl, tuned = (curve("fedcpsl", f"algorithm={kind}", rounds=25) for kind in ("fedcpsl", "apfl", "apfl_tuned"))
    assert ours[25] >= 95.0
    assert ours[25] - apfl[25] >= 5.0
    assert abs(ours[25] - tuned[25]) < 2.0


@pytest.mark.parametrize(
    ("name", "partition", "wanted", "within"),
    [
        ("fedcpsl_m2", PLAIN, 97.2, 1.0),
        ("fedcpsl_m2", None, 97.4, 0.8),
        ("fedcpsl_m4", None, 97.4, 0.8),
        ("fedcpsl_m2_hlu", None, 97.3, 1.0),
        ("apfl_m2", PLAIN, 93.0, 3.0),
        ("fedshvrp_m2", PLAIN, 89.0, 3.0),
    ],
)
def test_mnist_at_round_100(name: str, partition: str | None, wanted: float, within: float) -> None:
    """Our own means over these seeds, as docs/fedcpsl.md has them; Table I has 98.2, 98.8 and 97.5 for FedCPSL."""
    found = curve(f"fedcpsl/mnist/{name}", *([partition] if partition else []))
    assert found[100] == pytest.approx(wanted, abs=within)


def test_mnist_at_round_30() -> None:
    ours, apfl = (curve(f"fedcpsl/mnist/{name}", PLAIN) for name in ("fedcpsl_m2", "apfl_m2"))
    assert ours[30] >= 91.0
    assert ours[30] - apfl[30] >= 8.0


def test_what_unlabelled_data_are_worth_to_apsfl() -> None:
    """With alpha = 1 APSFL is ahead of APFL by 5 points or more at round 30 (10 measured), and from round 60 on it is
    higher and moves less; FedCPSL at alpha = .1 is where it is without unlabelled data, within half a point."""
    apfl = curve("fedcpsl/mnist/apfl_m2")
    apsfl = curve("fedcpsl/mnist/apsfl_m2", "algorithm.alpha_p=1", "algorithm.alpha_r=1")
    late = [t for t in apfl if t >= 60]
    assert apsfl[30] - apfl[30] >= 5.0
    assert mean(apsfl[t] - apfl[t] for t in late) >= 2.0
    assert max(apsfl[t] for t in late) - min(apsfl[t] for t in late) < max(apfl[t] for t in late) - min(
        apfl[t] for t in late
    )
    ours = curve("fedcpsl/mnist/fedcpsl_m2")
    without = curve("fedcpsl/mnist/fedcpsl_m2", "algorithm.alpha_p=0", "algorithm.alpha_r=0")
    assert abs(ours[100] - without[100]) < 0.5


@pytest.mark.parametrize(("rounds", "wanted"), [(100, 89.3), (850, 93.0)])
def test_fedshvr_cannot_be_ahead_of_central_training(rounds: int, wanted: float) -> None:
    """All labels in one place, at rate x steps = 8 (what 100 rounds of FedSHVRP make) and 68."""
    central = curve("fedcpsl/mnist/fedshvrp_m2", "algorithm={kind: central, steps: 16}", "rounds=850", rounds=850)
    assert central[rounds] == pytest.approx(wanted, abs=1.0)


def test_what_own_models_are_worth() -> None:
    """Without momentum, beta = .75 is at least 4 points ahead of the shared model alone at round 100."""
    mixed, shared = (curve(f"fedcpsl/mnist/fig1/beta_{beta}_m2", PLAIN) for beta in ("075", "0"))
    assert mixed[100] - shared[100] >= 4.0
