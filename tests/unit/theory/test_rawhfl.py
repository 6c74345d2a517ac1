"""RawHFL's bound: by hand, by literal loops, its limits, its minima, and where the print is wrong."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedradio.theory.rawhfl import (
    Bound,
    Constants,
    Shares,
    bound_21,
    corollary_1,
    rate_limits,
)

TERMS = ("gap", "variance", "client_divergence", "edge_divergence", "arrival")
ONES = Constants(1.0, 1.0, 1.0, 1.0)


def even_drops(gap: float, rounds: int) -> Tensor:
    """Equal drops ``[K]`` that sum to a gap."""
    return torch.full((rounds,), gap / rounds, dtype=torch.float64)


def single(steps: int = 2, p: float = 0.5, power: float = 4.0) -> Shares:
    """One client of one edge, one round of one edge round."""
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return Shares(torch.zeros(1, dtype=torch.long), one[0], one, (steps * one).long(), p * one, power * one)


def cells(rounds: int = 3, seed: int = 0, *, equal: bool = False) -> Shares:
    """Five clients in two cells, two edge rounds; some not selected, unequal weights, steps and arrivals."""
    draw = torch.Generator().manual_seed(seed)
    edge = torch.tensor([0, 0, 1, 1, 1])
    shape = (rounds, 2, 5)
    mass = torch.rand(shape, generator=draw, dtype=torch.float64) + 0.1
    mass[0, 0, 1] = mass[0, 1, 3] = 0.0
    total = torch.stack([mass[..., edge == b].sum(-1) for b in range(2)], -1)[..., edge]
    steps = torch.full(shape, 4) if equal else torch.randint(1, 6, shape, generator=draw)
    p_sc = 0.5 + 0.5 * torch.rand(shape, generator=draw, dtype=torch.float64)
    power = 5 * torch.rand(shape, generator=draw, dtype=torch.float64)
    alpha_b = torch.tensor([[0.3, 0.7]], dtype=torch.float64).repeat(rounds, 1)
    return Shares(edge, alpha_b, mass / total, steps, p_sc, power)


def literal(part: Shares, c: Constants, eta: float, drops: Tensor) -> dict[str, float]:
    """(21) symbol by symbol, in plain Python."""
    k_all, e_all, u_all = part.alpha_u.shape
    b_all, beta = part.alpha_b.shape[1], c.smoothness
    of = [[u for u in range(u_all) if int(part.edge[u]) == b] for b in range(b_all)]
    a_b: Any = part.alpha_b.tolist()
    a_u: Any = part.alpha_u.tolist()
    el_u: Any = part.steps.tolist()
    el = max(el_u[k][e][u] for k in range(k_all) for e in range(e_all) for u in range(u_all) if a_u[k][e][u] > 0)
    out = dict.fromkeys(TERMS, 0.0)
    for k in range(k_all):
        omega = n_1 = arrival = 0.0
        for e in range(e_all):
            for b in range(b_all):
                for u in of[b]:
                    alpha = a_u[k][e][u]
                    omega += a_b[k][b] * alpha * el_u[k][e][u]
                    n_1 += a_b[k][b] * (a_b[k][b] + 4 * e_all * el * beta * eta) * alpha**2
                    n_u = e_all + 3 * beta * eta * el
                    n_u += 4 * beta * eta * e_all * (alpha + 15 * e_all * beta**2 * eta**2 * el**3)
                    lost = (1 / float(part.p_sc[k, e, u]) - 1) * float(part.gradient_sq[k, e, u])
                    arrival += a_b[k][b] * alpha * n_u * lost
        n_1 += 60 * beta**3 * eta**3 * e_all**3 * el**3 + 3 * beta * eta * e_all * el
        n_2 = 1 + 20 * beta**2 * eta**2 * e_all**2 * el**2
        out["gap"] += 2 / (eta * k_all) * float(drops[k]) / omega
        out["variance"] += 2 * beta * eta * el * c.variance / k_all * n_1 / omega
        out["client_divergence"] += 18 * e_all * beta**2 * c.client_divergence * eta**2 * el**3 / k_all * n_2 / omega
        out["edge_divergence"] += 20 * el * beta**2 * c.edge_divergence * eta**2 * e_all**3 / k_all / omega
        out["arrival"] += 2 * beta * eta * el / k_all / omega * arrival
    return out


def test_one_client_by_hand() -> None:
    """beta = sigma^2 = eps_0^2 = eps_1^2 = 1, eta = .1, K = E = B = U = 1, L = 2, p = .5, sum |g|^2 = 4, drop .3.

    Omega = 2 and x = beta eta E L = .2. Gap 2/.1 * .3/2 = 3. N_1 = 60*.008 + .6 + 1*(1 + .8)*1 = 2.88, variance
    2*.1*2 * 2.88/2 = .576. N_2 = 1.8, clients 18*.01*8*1.8/2 = 1.296. Edges 20*2*.01/2 = .2.
    N_u = 1 + .6 + .4*(1 + 15*.01*8) = 2.48, arrival 2*.1*2/2 * 2.48*(2 - 1)*4 = 1.984. Sum 7.056.
    """
    found = bound_21(single(), ONES, 0.1, torch.tensor([0.3]))
    by_hand = Bound(3.0, 0.576, 1.296, 0.2, 1.984)
    for term in (*TERMS, "total"):
        assert getattr(found, term) == pytest.approx(getattr(by_hand, term), rel=1e-6)
    assert by_hand.total == pytest.approx(7.056)


def test_two_cells_by_hand() -> None:
    """Two cells of two clients, all weights 1/2, L_u = 1, 3 | 1, 3, E = K = 1, eta = .1, beta = 2, p = 1: Omega = 2,
    L = 3, x = .6. N_1 = 60*.216 + 1.8 + 2 * .5*(.5 + 2.4)*(2*.25) = 12.96 + 1.8 + 1.45 = 16.21; variance (sigma^2 = .5)
    2*2*.1*3*.5 * 16.21/2 = 4.863. Gap .4: 2/.1*.4/2 = 4."""
    half = torch.full((1, 1, 4), 0.5, dtype=torch.float64)
    part = Shares(
        torch.tensor([0, 0, 1, 1]),
        half[0, :, :2],
        half,
        torch.tensor([[[1, 3, 1, 3]]]),
        torch.ones_like(half),
        half,
    )
    found = bound_21(part, Constants(2.0, 0.5, 0.0, 0.0), 0.1, torch.tensor([0.4]))
    assert float(part.omega) == pytest.approx(2.0)
    assert found.gap == pytest.approx(4.0)
    assert found.variance == pytest.approx(4.863)
    assert found.total == pytest.approx(8.863)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_the_printed_one(seed: int) -> None:
    part, constants = cells(seed=seed), Constants(1.7, 2.3, 0.9, 1.1)
    drops = torch.tensor([0.5, -0.1, 0.2], dtype=torch.float64)
    found, wanted = bound_21(part, constants, 0.03, drops), literal(part, constants, 0.03, drops)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(wanted[term], rel=1e-12)


def test_equal_steps_give_the_corollary() -> None:
    part, constants = cells(equal=True), Constants(1.7, 2.3, 0.9, 1.1)
    general, special = bound_21(part, constants, 0.03, even_drops(0.6, 3)), corollary_1(part, constants, 0.03, 0.6)
    for term in TERMS:
        assert getattr(general, term) == pytest.approx(getattr(special, term), rel=1e-12)
    without = corollary_1(replace(part, p_sc=torch.ones_like(part.p_sc)), constants, 0.03, 0.6)  # (26)
    assert without.arrival == 0.0
    assert without.total == pytest.approx(special.total - special.arrival)
    with pytest.raises(ValueError, match="equal numbers"):
        corollary_1(cells(), constants, 0.03, 0.6)


def literal_corollary(part: Shares, c: Constants, eta: float, gap: float) -> dict[str, float]:
    """Corollary 1 symbol by symbol, in plain Python, apart from (21)."""
    k_all, e_all, u_all = part.alpha_u.shape
    el, beta = int(part.steps.max()), c.smoothness
    n_1 = arrival = 0.0
    for k in range(k_all):
        n_1 += 60 * beta**3 * eta**3 * e_all**3 * el**3 + 3 * beta * eta * e_all * el
        for e in range(e_all):
            for u in range(u_all):
                a_b, a_u = float(part.alpha_b[k, int(part.edge[u])]), float(part.alpha_u[k, e, u])
                n_1 += a_b * (a_b + 4 * e_all * el * beta * eta) * a_u**2
                n_u = (
                    e_all + 3 * beta * eta * el + 4 * beta * eta * e_all * (a_u + 15 * e_all * beta**2 * eta**2 * el**3)
                )
                arrival += a_b * a_u * n_u * (1 / float(part.p_sc[k, e, u]) - 1) * float(part.gradient_sq[k, e, u])
    n_2 = 1 + 20 * beta**2 * eta**2 * e_all**2 * el**2
    return {
        "gap": 2 * gap / (eta * e_all * k_all * el),
        "variance": 2 * beta * eta * c.variance / (e_all * k_all) * n_1,
        "client_divergence": 18 * beta**2 * c.client_divergence * eta**2 * el**2 * n_2,
        "edge_divergence": 20 * beta**2 * c.edge_divergence * eta**2 * e_all**2,
        "arrival": 2 * beta * eta / (e_all * k_all) * arrival,
    }


@pytest.mark.parametrize("seed", range(3))
def test_corollary_1_is_the_printed_one(seed: int) -> None:
    part, constants = cells(seed=seed, equal=True), Constants(1.7, 2.3, 0.9, 1.1)
    wanted = literal_corollary(part, constants, 0.03, 0.6)
    found = corollary_1(part, constants, 0.03, 0.6)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(wanted[term], rel=1e-12), term


def test_corollary_1_by_hand() -> None:
    """The client of above with the gap .3: Omega = E L = 2. Gap 2*.3/(.1*2) = 3; 2*.1 N_1 = .2*2.88 = .576;
    18*.01*4*1.8 = 1.296; 20*.01 = .2; 2*.1*2.48*(2 - 1)*4 = 1.984."""
    found = corollary_1(single(), ONES, 0.1, 0.3)
    assert [getattr(found, term) for term in TERMS] == pytest.approx([3.0, 0.576, 1.296, 0.2, 1.984])


def test_limits() -> None:
    part, drops = cells(), even_drops(1.0, 3)
    sure = replace(part, p_sc=torch.ones_like(part.p_sc))
    assert bound_21(sure, ONES, 0.01, drops).arrival == 0.0
    assert bound_21(part, ONES, 0.01, drops).arrival > 0.0
    never = replace(part, p_sc=torch.zeros_like(part.p_sc))
    assert bound_21(never, ONES, 0.01, drops).arrival == math.inf
    alike = bound_21(part, replace(ONES, client_divergence=0.0, edge_divergence=0.0), 0.01, drops)
    assert (alike.client_divergence, alike.edge_divergence) == (0.0, 0.0)
    assert bound_21(part, replace(ONES, variance=0.0), 0.01, drops).variance == 0.0
    assert bound_21(part, ONES, 0.01, 0 * drops).gap == 0.0


def test_nobody_training_and_wrong_weights_are_refused() -> None:
    part = cells()
    idle = part.alpha_u.clone()
    idle[1] = 0.0
    with pytest.raises(ValueError, match=r"round\(s\) \[1\]"):
        bound_21(replace(part, alpha_u=idle), ONES, 0.01, even_drops(1.0, 3))
    with pytest.raises(ValueError, match="sum to 1"):
        bound_21(replace(part, alpha_b=2 * part.alpha_b), ONES, 0.01, even_drops(1.0, 3))


@pytest.mark.parametrize("name", ["variance", "client_divergence", "edge_divergence", "smoothness"])
def test_larger_constants_give_a_larger_bound(name: str) -> None:
    part, drops = cells(), even_drops(1.0, 3)
    worse = replace(ONES, **{name: 1.1})
    assert bound_21(part, worse, 0.01, drops).total > bound_21(part, ONES, 0.01, drops).total
    certain = replace(part, p_sc=part.p_sc.sqrt())
    assert bound_21(certain, ONES, 0.01, drops).total < bound_21(part, ONES, 0.01, drops).total


def test_rate_limits() -> None:
    """beta = 2, L = 5: 1/(2 sqrt5 * 10) = .02236; with E = 10 the other limit, 1/100, binds; Lemma 2 needs .002236."""
    assert rate_limits(2.0, 1, 5) == pytest.approx((0.02236068, 0.02236068))
    assert rate_limits(2.0, 10, 5) == pytest.approx((0.01, 0.002236068))
    assert rate_limits(0.0, 10, 5) == (math.inf, math.inf)


# --- against Algorithm 1 on quadratics f_u = (w - c_u)' A (w - c_u) / 2 with exact gradients


def descend(curvature: Tensor, centres: Tensor, part: Shares, eta: float) -> tuple[float, Tensor]:
    """Mean of ``|grad f(w^k)|^2`` and the drops of f of Algorithm 1 without noise or losses, from w = 0."""
    w = torch.zeros(centres.shape[1], dtype=torch.float64)
    weight = part.alpha.mean(dim=1)  # [K, U]
    norms, drops = [], []

    def loss(at: Tensor, k: int) -> float:
        return float((weight[k] * 0.5 * (curvature * (at - centres) ** 2).sum(1)).sum())

    for k in range(part.rounds):
        norms.append(float((curvature * (w - weight[k] @ centres)).square().sum()))
        edges = w.expand(part.alpha_b.shape[1], -1).clone()
        for e in range(part.edge_rounds):
            shrink = (1 - eta * curvature) ** part.steps[k, e][:, None]  # of L steps towards c_u
            delta = (shrink - 1) * (edges[part.edge] - centres)
            edges.index_add_(0, part.edge, part.alpha_u[k, e][:, None] * delta)
        after = part.alpha_b[k] @ edges
        drops.append(loss(w, k) - loss(after, k))
        w = after
    return sum(norms) / len(norms), torch.tensor(drops, dtype=torch.float64)


def everybody(rounds: int, edge_rounds: int, steps: Tensor, edges: int = 1) -> Shares:
    """All clients, equal weights, always the same ``steps [U]``; cells of equal size."""
    clients = len(steps)
    alpha = torch.full((rounds, edge_rounds, clients), edges / clients, dtype=torch.float64)
    return Shares(
        torch.arange(clients) * edges // clients,
        torch.full((rounds, edges), 1 / edges, dtype=torch.float64),
        alpha,
        steps.expand(rounds, edge_rounds, -1),
        torch.ones_like(alpha),
        alpha,
    )


@pytest.mark.parametrize("seed", range(20))
def test_equal_steps_below_the_limit_of_lemma_2_keep_the_bound(seed: int) -> None:
    """Common curvature: divergences do not depend on w, so that the constants are exact."""
    draw = torch.Generator().manual_seed(seed)
    curvature = torch.rand(3, generator=draw, dtype=torch.float64)
    centres = torch.randn(6, 3, generator=draw, dtype=torch.float64)
    edge_rounds, steps = 1 + seed % 5, 1 + seed % 3
    part = everybody(30, edge_rounds, torch.full((6,), steps), edges=2)
    pull = curvature * centres
    means = torch.stack([pull[:3].mean(0), pull[3:].mean(0)])
    client = max(float((pull[i : i + 3] - means[i // 3]).square().sum(1).mean()) for i in (0, 3))
    edge = steps**2 * float((means - means.mean(0)).square().sum(1).mean())
    constants = Constants(float(curvature.max()), 0.0, client, edge)
    eta = 0.99 * rate_limits(constants.smoothness, edge_rounds, steps)[1]
    measured, drops = descend(curvature, centres, part, eta)
    assert measured <= bound_21(part, constants, eta, drops).total


def test_the_print_fails_for_one_client_near_its_limit() -> None:
    """Reading 3: one client, no noise, no divergence, E = 5, L = 2, eta = .99/(beta E L) below both printed limits.

    (21) is the gap alone, ``(1 - (1 - .099)^20)/.99 = .8845`` of what it bounds, for every K."""
    one = torch.ones(1, dtype=torch.float64)
    for rounds in (1, 20):
        part = everybody(rounds, 5, torch.tensor([2]))
        eta = 0.99 / 10
        assert eta < rate_limits(1.0, 5, 2)[0]
        measured, drops = descend(one, one[:, None], part, eta)
        found = bound_21(part, Constants(1.0, 0.0, 0.0, 0.0), eta, drops).total
        assert found / measured == pytest.approx(0.88452, abs=1e-4)


def test_the_print_fails_for_unequal_steps() -> None:
    """Reading 4: f = mean of (w - 3)^2/2 and (w - 1)^2/2 with 3 and 1 steps goes to w = 2.5, where |grad f|^2 = 1/4.

    From w = 0 f drops by 2 - 1/8 = 1.875; eta = .001, K = 20000, Omega = 2, L = 3, eps_0^2 = 1: the gap's term is
    2/20 * 1.875/2 = .09375 and the divergence's 18e-6*27/2 = 2.43e-4, against a measured mean of .25."""
    centres = torch.tensor([[3.0], [1.0]], dtype=torch.float64)
    part = everybody(20_000, 1, torch.tensor([3, 1]))
    assert rate_limits(1.0, 1, 3)[1] > 0.001
    measured, drops = descend(torch.ones(1, dtype=torch.float64), centres, part, 0.001)
    found = bound_21(part, Constants(1.0, 0.0, 1.0, 0.0), 0.001, drops)
    assert found.total == pytest.approx(0.09375 + 2.43e-4, rel=1e-3)
    assert measured == pytest.approx(0.25, abs=0.03)
