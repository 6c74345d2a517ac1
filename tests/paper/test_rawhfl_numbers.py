"""RawHFL against published and expected numbers: `make paper`."""

from statistics import mean

import pytest

from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin, iterate
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

pytestmark = pytest.mark.paper

SEEDS = range(10)


def energy(name: str, *overrides: str) -> float:
    """Mean joules of 400 edge rounds over ten seeds, planning only."""
    totals = []
    for seed in SEEDS:
        sim = build(load_spec(f"rawhfl/paper/{name}", [f"seed={seed}", *overrides]))
        plans = plan_slots(sim, begin(sim), 100)
        totals.append(sum(float(planned_j(plan).sum()) for plan in plans))  # type: ignore[union-attr]
    return mean(totals)


@pytest.mark.parametrize(
    ("name", "overrides", "joules", "share"),
    [
        ("ub", [], 15_000, 0.10),
        ("m2", [], 9_200, 0.12),
        ("m2", ["hops.0.policy.share=own"], 11_200, 0.10),
        ("z2", ["hops.0.policy.mode=paper", "hops.0.policy.overlap=2"], 1_205, 0.15),
        ("z4", ["hops.0.policy.mode=paper", "hops.0.policy.overlap=4"], 2_799, 0.15),
        ("z6", ["hops.0.policy.mode=paper", "hops.0.policy.overlap=6"], 4_808, 0.15),
    ],
)
def test_energies_at_full_power(name: str, overrides: list[str], joules: float, share: float) -> None:
    assert energy(name, *overrides) == pytest.approx(joules, rel=share)


def test_the_exact_optimum_needs_a_fiftieth() -> None:
    assert energy("z4") < energy("z4", "hops.0.policy.mode=paper") / 50


def test_learning_keeps_the_order_over_three_seeds() -> None:
    """Quick scale, six rounds, paired worlds, means over seeds 1-3."""
    last, joules = {}, {}
    for name in ("z4", "ub", "m2", "m1"):
        runs = [list(iterate(build(load_spec(f"rawhfl/quick/{name}", [f"seed={s}"])), 6)) for s in (1, 2, 3)]
        last[name] = 100 * mean(run[-1].metrics["accuracy"] for run in runs)
        joules[name] = mean(sum(record.energy_j or 0.0 for record in run) for run in runs)
    assert last["z4"] > last["ub"] - 3
    assert last["z4"] > last["m2"] + 5
    assert last["m2"] >= last["m1"]
    assert joules["z4"] < joules["ub"] / 4
