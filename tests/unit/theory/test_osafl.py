"""OSAFL's bound and score: by hand, by literal loops, as minima, and where the print is wrong."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedradio.core.rng import Rng
from fedradio.theory.osafl import (
    Bound,
    Constants,
    Rounds,
    a_t,
    b_u,
    bound_24,
    c_u,
    coefficient_34,
    rate_limits,
    score_34,
)

TERMS = ("gap", "variance", "shift", "divergence")


def constant(rounds: int, steps: list[int], score: float = 1.0, similarity: float = 1.0) -> Rounds:
    """Clients of equal weight whose samples stay the same and are alike."""
    many = torch.ones(rounds, len(steps), dtype=torch.float64)
    alpha = torch.full((len(steps),), 1 / len(steps), dtype=torch.float64)
    return Rounds(alpha, torch.tensor([steps] * rounds), score * many, similarity * many, 0 * many, 0 * many)


def drawn(seed: int, rounds: int = 3, clients: int = 4) -> Rounds:
    draw = Rng(seed).numpy()
    alpha = torch.from_numpy(draw.random(clients) + 0.1)
    steps = torch.from_numpy(draw.integers(1, 6, (rounds, clients)))
    score, similarity, shift, divergence = torch.from_numpy(draw.random((4, rounds, clients)))
    return Rounds(alpha / alpha.sum(), steps, score, similarity, shift, divergence)


def literal(r: Rounds, c: Constants, eta: float, eta_g: float, drops: Tensor) -> dict[str, float]:
    """(24) symbol by symbol, in plain Python."""
    out = dict.fromkeys(TERMS, 0.0)
    beta, rounds = c.smoothness, len(r.score)
    for t in range(rounds):
        a, noise, shift, divergence = 1.0, 0.0, 0.0, 0.0
        for u, alpha in enumerate(r.alpha.tolist()):
            k, delta, lam = int(r.steps[t, u]), float(r.score[t, u]), float(r.similarity[t, u])
            b = delta**2 - 2 * delta * lam + 2 * lam**2
            a -= 16 * c.rho_1 * beta**2 * eta**2 * alpha * k**2 * b
            noise += alpha * (eta_g * alpha * delta**2 + 4 * beta * eta * k * b)
            shift += alpha * b * float(r.shift[t, u]) * k**2
            divergence += alpha * float(r.divergence[t, u]) * b * k**2
        out["gap"] += 2 * float(drops[t]) / (eta * eta_g) / a / rounds
        out["variance"] += beta * eta * c.variance * noise / a / rounds
        out["shift"] += 32 * beta**2 * eta**2 * shift / a / rounds
        out["divergence"] += 16 * c.rho_2 * beta**2 * eta**2 * divergence / a / rounds
    return out


def test_one_client_by_hand() -> None:
    """beta = sigma^2 = rho_1 = rho_2 = 1, eta = .1, eta_g = kappa = 2, Delta = .5, lambda = .6, Phi = .3, delta = .4,
    drop .05. B = .25 - .6 + .72 = .37, A = 1 - 16*.01*4*.37 = .7632. Gap 2*.05/.2 = .5; noise .1*(2*.25 + 4*.1*2*.37)
    = .0796; shift 32*.01*.37*.3*4 = .14208; divergence 16*.01*.4*.37*4 = .09472; all of them over A."""
    one = torch.ones(1, 1, dtype=torch.float64)
    r = Rounds(one[0], (2 * one).long(), 0.5 * one, 0.6 * one, 0.3 * one, 0.4 * one)
    c = Constants(1.0, 1.0, 1.0, 1.0)
    assert float(b_u(r.score, r.similarity)) == pytest.approx(0.37)
    assert float(a_t(r, c, 0.1)) == pytest.approx(0.7632)
    found = bound_24(r, c, 0.1, 2.0, torch.tensor([0.05], dtype=torch.float64))
    wanted = Bound(0.5 / 0.7632, 0.0796 / 0.7632, 0.14208 / 0.7632, 0.09472 / 0.7632)
    for term in (*TERMS, "total"):
        assert getattr(found, term) == pytest.approx(getattr(wanted, term))
    assert wanted.total == pytest.approx(0.8164 / 0.7632)


def test_the_score_by_hand() -> None:
    """The same client: C = 8*2*.01 + (64*.3 + 32*.4 + 32)*(.1*2)^2 = .16 + 64*.04 = 2.72; 2*.1*2 = .4; 2.72/3.12 =
    .87179, times .6 = .52308. psi = 2 adds 32*.04 = 1.28 to C: 4/4.4 = .90909."""
    one = torch.ones(1, 1, dtype=torch.float64)
    r = Rounds(one[0], (2 * one).long(), 0.5 * one, 0.6 * one, 0.3 * one, 0.4 * one)
    c = Constants(1.0, 1.0, 1.0, 1.0)
    assert float(c_u(r, c, 0.1)) == pytest.approx(2.72)
    assert float(coefficient_34(r, c, 0.1, 2.0)) == pytest.approx(0.871795, rel=1e-5)
    assert float(score_34(r, c, 0.1, 2.0)) == pytest.approx(0.523077, rel=1e-5)
    assert float(coefficient_34(r, c, 0.1, 2.0, psi=2.0)) == pytest.approx(4 / 4.4)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_the_printed_one(seed: int) -> None:
    r, c = drawn(seed), Constants(1.7, 2.3, 1.4, 0.9)
    drops = torch.tensor([0.5, -0.1, 0.2], dtype=torch.float64)
    found, wanted = bound_24(r, c, 0.02, 3.0, drops), literal(r, c, 0.02, 3.0, drops)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(wanted[term], rel=1e-12)


def test_limits_and_refusals() -> None:
    r, c, drops = drawn(0), Constants(1.0, 1.0, 1.0, 1.0), torch.ones(3)
    assert bound_24(r, replace(c, variance=0.0), 0.01, 1.0, drops).variance == 0.0
    assert bound_24(r, replace(c, rho_2=0.0), 0.01, 1.0, drops).divergence == 0.0
    assert bound_24(replace(r, shift=0 * r.shift), c, 0.01, 1.0, drops).shift == 0.0
    assert bound_24(r, c, 0.01, 1.0, 0 * drops).gap == 0.0
    with pytest.raises(ValueError, match="sum to 1"):
        bound_24(replace(r, alpha=2 * r.alpha), c, 0.01, 1.0, drops)
    with pytest.raises(ValueError, match="all take part"):
        bound_24(replace(r, steps=0 * r.steps), c, 0.01, 1.0, drops)
    with pytest.raises(ValueError, match="negative"):
        bound_24(replace(r, score=r.score - 1), c, 0.01, 1.0, drops)


def test_rate_limits_by_hand() -> None:
    """beta = 2, kappa = 5, scores and similarities 1, rho_1 = 1: 1/(2 sqrt2 * 10) = .03536 as printed, 1/(4*2*5) = .025
    is needed, at which A^t = 0. A server rate of 100 makes 1/200 the limit of both."""
    r, c = constant(1, [5, 5]), Constants(2.0, 0.0)
    assert rate_limits(r, c, 1.0) == pytest.approx((0.0353553, 0.025), rel=1e-5)
    assert rate_limits(r, c, 100.0) == pytest.approx((0.005, 0.005))
    assert float(a_t(r, c, 0.025)) == pytest.approx(0.0, abs=1e-12)
    assert rate_limits(r, Constants(0.0, 0.0), 1.0) == (math.inf, math.inf)
    silent = constant(1, [5, 5], score=0.0, similarity=0.0)
    assert rate_limits(silent, c, 1.0)[1] == pytest.approx(0.0353553, rel=1e-5)


def test_with_its_own_value_as_psi_the_score_minimises_24() -> None:
    """Dinkelbach's iteration for the quotient: for a given first term no score gives a lower bound."""
    c, drops = Constants(1.7, 2.3, 1.4, 0.9), torch.tensor([0.02], dtype=torch.float64)
    for seed in range(4):
        r, psi = drawn(seed, rounds=1), 1.0
        for _ in range(50):
            psi = bound_24(replace(r, score=score_34(r, c, 0.02, 3.0, psi)), c, 0.02, 3.0, drops).total
        best = score_34(r, c, 0.02, 3.0, psi)
        for client in range(4):
            for factor in (0.9, 0.99, 1.01, 1.1):
                changed = best.clone()
                changed[0, client] *= factor
                assert bound_24(replace(r, score=changed), c, 0.02, 3.0, drops).total > psi


def test_the_approximation_is_good_for_many_clients_and_bad_for_few() -> None:
    """No shift, delta = 0, sigma^2 = 1e6: the coefficient is 1/(1 + eta_g/(4 U beta eta kappa)) up to the rest of C.

    Published rates .2 and 35 with 100 clients of 25 steps, beta = 1: 1/(1 + 35/2000) = .9828; with 4 clients of one
    step 1/(1 + 35/3.2) = .0838. Without noise it is exact."""
    noisy = Constants(1.0, 1e6)
    many, few = constant(1, [25] * 100), constant(1, [1] * 4)
    assert float(coefficient_34(many, noisy, 0.2, 35.0)[0, 0]) == pytest.approx(0.9828, abs=1e-4)
    assert float(coefficient_34(few, noisy, 0.2, 35.0)[0, 0]) == pytest.approx(0.0838, abs=1e-4)
    assert torch.equal(score_34(few, Constants(1.0, 0.0), 0.2, 35.0), few.similarity)


def test_the_published_rates_need_a_small_smoothness() -> None:
    """Local .2, global 35, 25 updates: 1/(2 sqrt2 * 25 * .2) = .0707 is the largest beta the theorem allows."""
    assert rate_limits(constant(1, [25] * 100), Constants(0.0707, 1.0), 35.0)[0] > 0.2
    assert rate_limits(constant(1, [25] * 100), Constants(0.0708, 1.0), 35.0)[0] < 0.2


# --- against the algorithm on quadratics f_u = (w - c_u)' A_u (w - c_u) / 2 with exact gradients


def descend(
    curvature: Tensor, centres: Tensor, r: Rounds, eta: float, eta_g: float
) -> tuple[list[float], Tensor, Tensor]:
    """``|grad f|^2``, drops of the surrogate with fixed scores, and ``|grad f_u|^2 [T, U]``; from w = 1."""
    w = torch.ones(centres.shape[1], dtype=torch.float64)
    norms, losses, own = [], [], []
    weight = r.alpha * r.score[0]
    for steps in r.steps:
        gradient = curvature * (w - centres)  # [U, n]
        norms.append(float((weight @ gradient).square().sum()))
        own.append(gradient.square().sum(dim=1))
        losses.append(float(weight @ (0.5 * curvature * (w - centres) ** 2).sum(dim=1)))
        end = centres + (1 - eta * curvature) ** steps[:, None] * (w - centres)
        w = w - eta_g * weight @ ((w - end) / steps[:, None])
    losses.append(float(weight @ (0.5 * curvature * (w - centres) ** 2).sum(dim=1)))
    return norms, torch.tensor(losses, dtype=torch.float64).diff().neg(), torch.stack(own)


@pytest.mark.parametrize("seed", range(30))
def test_fixed_scores_and_exact_gradients_keep_the_bound_below_the_needed_rate(seed: int) -> None:
    """Reading 6. ``delta_u`` is measured: what a client's gradient has beyond the surrogate's (rho_1 = rho_2 = 1)."""
    draw = Rng(seed).numpy()
    curvature, centres = torch.from_numpy(draw.random((4, 3))), torch.from_numpy(draw.standard_normal((4, 3)))
    r = replace(drawn(seed, 20), score=drawn(seed, 1).score.expand(20, -1))
    c, eta_g = Constants(float(curvature.max()), 0.0, 1.0, 1.0), 1 + 4 * draw.random()
    eta = 0.98 * rate_limits(r, c, eta_g)[1]
    norms, drops, own = descend(curvature, centres, r, eta, eta_g)
    excess = (own - torch.tensor(norms, dtype=torch.float64)[:, None]).clamp(min=0.0)
    found = bound_24(replace(r, divergence=excess), c, eta, eta_g, drops)
    assert bool((a_t(r, c, eta) > 0).all())
    assert sum(norms) / len(norms) <= found.total


def one_client(steps: int, eta: float, eta_g: float, rounds: int = 5) -> tuple[float, Tensor]:
    """Mean ``|grad f|^2`` and drops for ``w^2 / 2``."""
    one = torch.ones(1, 1, dtype=torch.float64)
    norms, drops, _ = descend(one, 0 * one, constant(rounds, [steps]), eta, eta_g)
    return sum(norms) / len(norms), drops


def test_the_print_is_negative_between_the_two_limits() -> None:
    """Reading 1: one client, no noise, kappa = 3, eta = .1, below 1/(2 sqrt2 * 3) = .118, above 1/12: A = 1 - 1.44."""
    r, c = constant(5, [3]), Constants(1.0, 0.0)
    printed, needed = rate_limits(r, c, 1.0)
    assert needed < 0.1 < printed
    measured, drops = one_client(3, 0.1, 1.0)
    assert bool((drops > 0).all())
    assert float(a_t(r, c, 0.1)[0]) == pytest.approx(-0.44)
    assert bound_24(r, c, 0.1, 1.0, drops).total < 0 < measured


@pytest.mark.parametrize(("steps", "eta"), [(2, 0.12), (20, 0.012)])
def test_without_its_quotient_24_is_below_what_it_bounds(steps: int, eta: float) -> None:
    """Reading 2: (26) is (24) times A^t here. One client, eta_g = 1/eta, eta below 1/(4 kappa): (26) over measured is
    1 - (1 - r)^2, .9964 and .9887; (24) divides by A^t and holds."""
    r, c = constant(5, [steps]), Constants(1.0, 0.0)
    measured, drops = one_client(steps, eta, 1 / eta)
    found, ratio = bound_24(r, c, eta, 1 / eta, drops).total, (1 - (1 - eta) ** steps) / (eta * steps)
    of_26 = found * float(a_t(r, c, eta)[0])
    assert of_26 / measured == pytest.approx(1 - (1 - ratio) ** 2)
    assert of_26 < measured < found


def test_samples_of_higher_loss_make_the_print_negative() -> None:
    """Reading 3: ``w^2/2`` plus the round's number: gradients stay (Phi = 0), each drop is smaller by 1."""
    r, c = constant(5, [1]), Constants(1.0, 0.0)
    measured, drops = one_client(1, 0.01, 1.0)
    assert bound_24(r, c, 0.01, 1.0, drops).total > measured
    assert bound_24(r, c, 0.01, 1.0, drops - 1.0).total < 0 < measured


def test_scores_that_depend_on_the_gradients_leave_a_bias() -> None:
    """Reading 4: two identical clients, ``w^2/2``, noise 3 with probability 1/4, else -1 (variance 3), kappa = chi = 1.

    On a line the cosine is +-1, so that a client counts only if its sign is the mean's. The mean step vanishes at
    ``4 (3 + w) - 9 (1 - w) = 0``, w = -3/13, and not at 0; there the mean of ``(alpha Delta sum)^2 w^2`` is
    (10/16 + 6/16/4) * 9/169 = .0383. (24), taken at scores 1, which is its largest, has .005*3*(1/2 + 4*.005) = .0078.
    2000 copies of 400 rounds of eta = .005. Tolerance: the copies' spread of w, about .06, adds .003."""
    r, c, eta = constant(400, [1, 1]), Constants(1.0, 3.0), 0.005
    draw, copies = Rng(7).numpy(), 2000
    w = torch.full((copies,), -3 / 13, dtype=torch.float64)
    norms, losses = [], []
    for _ in range(401):
        noise = torch.from_numpy(draw.random((copies, 2)) < 0.25).double() * 4 - 1
        gradient = w[:, None] + noise
        score = (1 + gradient.sign() * gradient.mean(dim=1, keepdim=True).sign()) / 2
        share = score.mean(dim=1)  # sum of alpha_u Delta_u
        norms.append(float((share * w).square().mean()))
        losses.append(float((share * w**2 / 2).mean()))
        w = w - eta * (score * gradient).mean(dim=1)
    measured = sum(norms[:400]) / 400
    found = bound_24(r, c, eta, 1.0, torch.tensor(losses, dtype=torch.float64).diff().neg())
    assert float(w.mean()) == pytest.approx(-3 / 13, abs=0.01)
    assert measured == pytest.approx(0.0383, abs=0.004)
    assert found.variance == pytest.approx(0.0078, rel=1e-3)
    assert found.total < measured / 3


def test_the_similarity_is_no_part_of_the_proof() -> None:
    """Reading 5: ``2 B >= Delta^2`` with equality at lambda = Delta/2, so the lowest bound for given scores has half of
    them in place of the similarities."""
    r, c, drops = drawn(3), Constants(1.0, 1.0, 1.0, 1.0), torch.ones(3)
    assert bool((2 * b_u(r.score, r.similarity) >= r.score**2).all())
    half = replace(r, similarity=r.score / 2)
    assert torch.allclose(2 * b_u(half.score, half.similarity), r.score**2)
    least = bound_24(half, c, 0.02, 1.0, drops).total
    for seed in range(10):
        assert bound_24(replace(r, similarity=drawn(seed).similarity), c, 0.02, 1.0, drops).total > least


def test_identical_clients_with_small_scores_have_a_larger_rho_1() -> None:
    """Scores 1/2: the surrogate's gradient is half a client's, so that Assumption 3 needs rho_1 = 4."""
    one = torch.ones(3, 1, dtype=torch.float64)
    norms, _, own = descend(one, 0 * one, constant(2, [2, 2, 2], score=0.5), 0.1, 1.0)
    assert own[0].tolist() == pytest.approx([4 * norms[0]] * 3)
