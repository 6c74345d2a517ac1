"""FedCPSL's bounds and conditions, by hand."""

import math
from dataclasses import replace

import pytest
import torch

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core.contracts import LocalRule
from fedradio.losses.fedcpsl import reinforcement
from fedradio.theory.fedcpsl import (
    Bound39,
    Condition,
    Constants,
    Setting,
    bound_35,
    bound_39,
    conditions_34,
    conditions_36_to_38,
    corollary_1,
    d_0,
    gap_33,
    potential_48,
)

HALF = torch.tensor([0.5, 0.5], dtype=torch.float64)
SMALL = Setting(
    clients=2,
    sampled=1,
    lr=0.001,
    global_lr=2.0,
    own_lr=0.002,
    pseudo_lr=0.1,
    most=4.0,
    least=2.0,
    batch=8,
    share=HALF,
    mixture=HALF,
)
CONSTANTS = Constants(
    1.0, 16.0, smoothness_own=2.0, smoothness_cost=1.5, smoothness_output=0.5, convexity=0.5, spread=1.0
)


def violated(conditions: list[Condition]) -> list[Condition]:
    return [condition for condition in conditions if not condition.holds]


def test_conditions_by_hand() -> None:
    """N = 2, m = 1, eta_g = 2, Q-bar = 4, Q_ = 2, L = 1. (34): 1/192, 1/32, 12/1600 = .0075, 1/128/sqrt 5 = .0034939.
    D_0 = .5 (4*.5*1.5*.5*1 + 5)/4 = .8125: (36) 1/(192*.8125); (37) 1/16, .001*2/(2*4) = .00025, .001; (38) 1.375 +
    2.75."""
    first = [condition.limit for condition in conditions_34(SMALL, CONSTANTS)]
    assert first == pytest.approx([1 / 192, 1 / 32, 0.0075, 1 / 128 / math.sqrt(5), 0.25, 1, 1])
    assert violated(conditions_34(SMALL, CONSTANTS)) == []
    assert d_0(SMALL, CONSTANTS) == pytest.approx(0.8125)
    second = conditions_36_to_38(SMALL, CONSTANTS)
    assert [c.limit for c in second[len(first) :]] == pytest.approx([1 / 156, 1 / 16, 0.00025, 0.001, 4.125])
    assert [c.term for c in violated(second)] == ["eta N L^2/(Q_ m L_F^2)", "eta N/(Q_ m)"]
    mended = conditions_36_to_38(SMALL, replace(CONSTANTS, smoothness=0.8), corrected=True)
    assert mended[-2].limit == pytest.approx(0.002)  # eta eta_g in place of eta
    assert mended[-1].limit == pytest.approx(0.8 * 4.125)  # L in both terms


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lr": 0.004}, ["(34): eta = 0.004 is above m/(32 eta_g N L) (1 + 2N/m)^(-1/2) = 0.00349"]),
        ({"pseudo_lr": 0.3}, ["Theorem 1: eta_v = 0.3 is above 1/(4L) = 0.25"]),
        ({"sampled": 2}, ["Theorem 1: m = 2 is above N - 1 = 1"]),
        ({"most": 10.0}, []),
        ({"most": 15.0}, ["(34): eta = 0.001 is above 3 eta_g N/(100 m L Q-bar^2) = 0.000533"]),
    ],
)
def test_the_checker_says_which(changes: dict[str, float], said: list[str]) -> None:
    assert [str(c) for c in violated(conditions_34(replace(SMALL, **changes), CONSTANTS))] == said  # type: ignore[arg-type]


def test_bound_35_by_hand() -> None:
    """eta~ = .002, 10 rounds, gap 3: 4*3/.02 = 600; factor 259/64 + .5 + 5*.001*.5*16/48 times
    12*.002*2*16/8 = .096."""
    found = bound_35(SMALL, CONSTANTS, 10, 3.0)
    assert found.gap == pytest.approx(600.0)
    assert found.noise == pytest.approx((259 / 64 + 0.5 + 0.04 / 48) * 0.096)
    assert found.total == found.gap + found.noise
    assert potential_48(1.0, 2.0, SMALL, CONSTANTS) == pytest.approx(1 + 24 * 0.004**2 * 2)


def test_the_gap_and_what_its_weight_needs() -> None:
    """|grad f|^2 = 2 and squared moves 1 and 3 of clients that count half: 2 + 31/64 * 2 = 2.96875. The sampled half
    of the clients make these moves, so that (33) needs L >= 1/(192*2) = .0026; 1/192 as for all would be too much."""
    assert gap_33(2.0, torch.tensor([1.0, 3.0]), SMALL, CONSTANTS) == pytest.approx(2.96875)
    for smoothness, holds in ((0.0027, True), (0.0026, False)):
        last = conditions_34(SMALL, replace(CONSTANTS, smoothness=smoothness))[-1]
        assert (last.equation, last.value, last.holds) == ("(33)", pytest.approx(1 / 384), holds)
    # at the largest rate of (34), eta~ = m/(48 N L), the weight 31 m L/(16 N eta~) over m/N of (33)'s is 1 at that L
    least = 1 / 384
    rate = 1 / (48 * 2 * least)
    assert 31 * least / (16 * rate) == pytest.approx(31 * least / 64)


def test_the_factor_of_62() -> None:
    """(55) over 3 eta~ L^2/2, with N = 2 m and eta~ N L/m = x: 1 - 8x/3 - (257/16 + 8 m/N) x; C_2 >= 0 up to x = 1/48
    even for m = N, where the print's 4 m/N would not be what (55) says."""
    for ratio in (0.1, 0.5, 1.0):
        x = 1 / 48
        by_55 = (1.5 - 4 * x - (257 / 32 + 4 * ratio) * 3 * x) / 1.5
        assert by_55 == pytest.approx(1 - 8 * x / 3 - (257 / 16 + 8 * ratio) * x)
        assert by_55 > 0


def test_rates_of_the_corollaries_by_hand() -> None:
    """m = 1, eta_g = 2, N = 2, R = 25: sqrt(1/100) = .1 and sqrt(2/50) = .2."""
    assert corollary_1(SMALL, 25) == pytest.approx((0.1, 0.2))


def test_bound_39_by_hand() -> None:
    """N/(eta_c Q_ m) = 2/.004 = 500, sigma^2/S = 2. Cost 3*500*.4/10, potential 5.5*500*3/10; (a) 1.5*.004*1.004*4*2;
    (b) 1.5*500*4e-6*2*2 = .012; (c) 66 * factor * 500*4e-6*2*2; (d) 1.5*2.25/.004 * .25; (e) 1500 * .25 * 2."""
    found = bound_39(SMALL, CONSTANTS, 10, 0.4, 3.0)
    factor = 259 / 64 + 0.5 + 0.04 / 48
    wanted = Bound39(60.0, 825.0, 0.048192, 0.012, 66 * factor * 0.008, 210.9375, 750.0)
    for term in ("cost", "potential", "a", "b", "c", "d", "e"):
        assert getattr(found, term) == pytest.approx(getattr(wanted, term)), term
    assert found.ball == pytest.approx(960.9375)
    assert found.total == pytest.approx(60 + 825 + 0.048192 + 0.012 + 0.528 * factor + 960.9375)
    assert bound_39(SMALL, CONSTANTS, 10, 0.4, 3.0, corrected=True).b == pytest.approx(0.012 * 0.8125)


def test_the_ball_vanishes_with_the_mixture_and_grows_with_rounds() -> None:
    """(d) and (e) are 0 for b = 0, (e) for b = 1; with rates that fall as R^(-1/2) the ball grows as R^(1/2)."""

    def ball(b: float, rounds: int) -> Bound39:
        falling = replace(SMALL, mixture=torch.full((2,), b).double(), own_lr=0.002 / math.sqrt(rounds))
        return bound_39(falling, CONSTANTS, rounds, 0.4, 3.0)

    assert ball(0.0, 1).ball == 0.0
    assert ball(1.0, 1).e == 0.0
    assert ball(0.75, 400).ball == pytest.approx(20 * ball(0.75, 1).ball)


def test_the_published_setting_breaks_its_own_conditions() -> None:
    """N = 20, m = 2, eta = .005 and 16 steps with momentum .8, Qt = 60.56; (34) allows .005 up to L = .0085 only, and
    its tightest term is the last one."""
    rule = fedcpsl().rule(LocalRule(0.005, batch=32))
    steps = float(rule.effective_steps(torch.tensor(16)))
    assert steps == pytest.approx(60.563, abs=1e-3)
    share = torch.full((20,), 0.05, dtype=torch.float64)
    setting = Setting(20, 2, rule.lr, 16.0, 2 * rule.lr, 0.0, steps, steps, 64, share, 0.75 + 0 * share)
    assert violated(conditions_34(setting, Constants(0.0085))) == []
    broken = violated(conditions_34(setting, Constants(0.0086)))
    assert [c.term for c in broken] == ["m/(32 eta_g N L) (1 + 2N/m)^(-1/2)"]


def test_pseudo_labels_reinforce_themselves_below_the_golden_ratio() -> None:
    """One alternation on a single sample, the model's step solved to the end, multiplies the deviation by
    1/(rho (1 + rho))."""
    assert reinforcement(0.1, 0.1) == pytest.approx(0.5)
    assert reinforcement(1.0, (math.sqrt(5.0) - 1.0) / 2.0) == pytest.approx(1.0)
    assert reinforcement(0.0, 1.0) == 0.0
    assert reinforcement(1.0, 0.0) == math.inf
    for alpha_p, alpha_r in ((0.1, 0.1), (0.5, 0.2), (0.1, 0.3)):
        before = 1e-4 * torch.tensor([1.0, -0.5, -0.5], dtype=torch.float64)
        nu = (alpha_p / alpha_r * (1 / 3 + before).log()).softmax(0)
        z = torch.zeros(3, dtype=torch.float64)
        for _ in range(2000):
            h = z.softmax(0)
            pull = h * (h.log() - (h * h.log()).sum())
            z = z - alpha_p * (h - nu) / alpha_p - alpha_r * pull / alpha_p
        after = z.softmax(0) - 1 / 3
        assert float(after[0] / before[0]) == pytest.approx(reinforcement(alpha_p, alpha_r), rel=1e-3)
