"""RawHFL's convergence bound: Theorem 1 (eq. (21), in the supplement (50)) and Corollary 1.

The theorem bounds ``1/K sum_k E|grad f(w^k)|^2`` over K rounds of E edge rounds, in which client u of edge b takes
``L_u`` SGD steps of rate ``eta`` and its accumulated gradient enters with ``alpha_b alpha_u 1_sc / p_sc`` (15), (17).
``f`` is the loss (18) of the selected clients, which the print lets depend on the edge round: we take the mean over a
round's edge rounds. Units: ``beta eta`` has none, each term of (21) has that of a squared gradient. All in float64.

Symbols: ``beta`` smoothness of every f_u; ``sigma^2`` variance of a mini-batch gradient (Assumption 3, printed without
an expectation, read as a mean square); ``eps_0^2`` client-edge divergence (19); ``eps_1^2`` edge-global divergence
(20) of gradients *summed over L_u steps*, so that it grows with L^2; ``Omega^k``: mean steps, summed over edge rounds.

**Where the print does not hold.** The five terms are as printed; from (59) and (60) on the algebra is right, and
Corollary 1 is (21) at equal steps. Four steps before that are not:

1. Lemma 2 needs ``eta < 1/(2 sqrt5 beta E L)`` (below (71)); the theorem prints the condition without E.
2. (66)-(67) and (71)-(72) divide by ``1 - 18 (beta eta L)^2`` and ``1 - 20 (beta eta E L)^2``, both below 1, and drop
   the quotient: the right-hand side should grow by it.
3. (62) measures a client's drift against an edge model that moves with the clients, while (8) and (15) keep it still
   during an edge round, so the drift along the common gradient is lost. One client with exact gradients of
   ``beta w^2 / 2`` has (21) over measured ``= (1 - (1 - beta eta)^(2 E L)) / (beta eta E L)``, whatever K. That is
   below 1 from ``beta eta E L = .8`` on, which the printed condition allows for E >= 4; at .99 it is about .87.
4. (57) step (b) sets a client's gradient equal to the mean over clients. With unequal ``L_u`` the model goes to a
   stationary point of the step-weighted loss, not of f, and the left side keeps a floor ``|grad f - grad f'|^2``, with
   f' the loss weighted by ``alpha L_u`` in place of ``alpha``, that no term of (21) contains.

So a run can exceed (21) inside the printed range; outside it nothing is claimed at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.params import group_sum


@dataclass(frozen=True)
class Constants:
    """Assumed constants: ``beta``, and the squares ``sigma^2``, ``eps_0^2`` (19) and ``eps_1^2`` (20)."""

    smoothness: float
    variance: float
    client_divergence: float
    edge_divergence: float


@dataclass(frozen=True)
class Shares:
    """Participation of U clients below B edges in K rounds of E edge rounds.

    ``edge [U]`` of each client; ``alpha_b [K, B]``, summing to 1; ``alpha_u [K, E, U]``, 0 for those not selected, else
    summing to 1 over an edge; ``steps [K, E, U]`` SGD steps L_u; ``p_sc [K, E, U]`` probability to arrive;
    ``gradient_sq [K, E, U]``: the sum over a client's steps of ``E|g_u|^2``, which matters only where p_sc < 1.
    """

    edge: Tensor
    alpha_b: Tensor
    alpha_u: Tensor
    steps: Tensor
    p_sc: Tensor
    gradient_sq: Tensor

    @property
    def rounds(self) -> int:
        return self.alpha_u.shape[0]

    @property
    def edge_rounds(self) -> int:
        return self.alpha_u.shape[1]

    @property
    def most_steps(self) -> int:
        """Most local steps ``L`` of the clients that took part: ``1 <= L_u <= L``."""
        return int(torch.where(self.alpha_u > 0, self.steps, 0).max())

    @property
    def alpha(self) -> Tensor:
        """Share ``alpha_b alpha_u`` of each client in the global model ``[K, E, U]``."""
        return self.alpha_b.double()[:, None, self.edge] * self.alpha_u.double()

    @property
    def omega(self) -> Tensor:
        """Mean steps of a round, ``Omega^k = sum_e sum_b alpha_b sum_u alpha_u L_u``, ``[K]``."""
        return (self.alpha * self.steps).sum(dim=(1, 2))


@dataclass(frozen=True)
class Bound:
    """The right-hand side of the bound: its terms by cause, in the order of Remark 1, and their sum."""

    gap: float
    variance: float
    client_divergence: float
    edge_divergence: float
    arrival: float

    @property
    def total(self) -> float:
        return self.gap + self.variance + self.client_divergence + self.edge_divergence + self.arrival


def bound_21(part: Shares, constants: Constants, lr: float, drops: Tensor) -> Bound:
    """Bound (21) of Theorem 1 as printed. ``drops [K]`` are ``f(w^k) - f(w^(k+1))``, or equal parts of a
    known gap ``f(w^0) - f_inf``, which is exact (up to ``f_inf <= f(w^K)``) if Omega^k is the same in all rounds."""
    beta, eta, rounds = constants.smoothness, lr, part.rounds
    e, el, omega = part.edge_rounds, part.most_steps, part.omega
    _check(part, omega)
    inverse = (1.0 / omega).mean()  # 1/K sum_k 1/Omega^k
    n_2 = 1 + 20 * beta**2 * eta**2 * e**2 * el**2
    return Bound(
        gap=float(2 / (eta * rounds) * (drops.double() / omega).sum()),
        variance=float(2 * beta * eta * el * constants.variance * (_n_1(part, beta, eta) / omega).mean()),
        client_divergence=float(
            18 * e * beta**2 * constants.client_divergence * eta**2 * el**3 * n_2 * inverse,
        ),
        edge_divergence=float(20 * el * beta**2 * constants.edge_divergence * eta**2 * e**3 * inverse),
        arrival=float(2 * beta * eta * el * (_losses(part, beta, eta) / omega).mean()),
    )


def corollary_1(part: Shares, constants: Constants, lr: float, gap: float) -> Bound:
    """Bound of Corollary 1: all clients take L steps, ``Omega^k = E L``.

    ``gap`` is ``f(w^0) - f(w^K)``, or that to the infimum.
    """
    beta, eta, rounds = constants.smoothness, lr, part.rounds
    e, el = part.edge_rounds, part.most_steps
    if bool((torch.where(part.alpha_u > 0, part.steps, el) != el).any()):
        raise ValueError("Corollary 1 is for equal numbers of local steps; use bound_21")
    _check(part, part.omega)
    n_2 = 1 + 20 * beta**2 * eta**2 * e**2 * el**2
    return Bound(
        gap=2 * gap / (eta * e * rounds * el),
        variance=float(2 * beta * eta * constants.variance / (e * rounds) * _n_1(part, beta, eta).sum()),
        client_divergence=18 * beta**2 * constants.client_divergence * eta**2 * el**2 * n_2,
        edge_divergence=20 * beta**2 * constants.edge_divergence * eta**2 * e**2,
        arrival=float(2 * beta * eta / (e * rounds) * _losses(part, beta, eta).sum()),
    )


def rate_limits(smoothness: float, edge_rounds: int, steps: int) -> tuple[float, float]:
    """The condition on eta as printed, ``min(1/(2 sqrt5 beta L), 1/(beta E L))``, and the one the proof of Lemma 2
    uses, ``1/(2 sqrt5 beta E L)``."""
    if smoothness <= 0:
        return math.inf, math.inf
    printed = min(1 / (2 * math.sqrt(5) * smoothness * steps), 1 / (smoothness * edge_rounds * steps))
    return printed, 1 / (2 * math.sqrt(5) * smoothness * edge_rounds * steps)


def _n_1(part: Shares, beta: float, eta: float) -> Tensor:
    """Factor ``N_1^k`` of the variance, ``[K]``.

    ``N_1^k = 60 x^3 + 3 x + sum_e sum_b alpha_b (alpha_b + 4 x) sum_u alpha_u^2``, ``x = beta eta E L``.
    """
    x = beta * eta * part.edge_rounds * part.most_steps
    alpha_b = part.alpha_b.double()[:, None, part.edge]  # [K, 1, U]
    shares = (alpha_b * (alpha_b + 4 * x) * part.alpha_u.double() ** 2).sum(dim=(1, 2))
    return 60 * x**3 + 3 * x + shares


def _losses(part: Shares, beta: float, eta: float) -> Tensor:
    """Losses ``sum_e sum_b alpha_b sum_u alpha_u N_u (1/p_sc - 1) sum_l E|g_u|^2``, ``[K]``; infinite if p_sc is 0."""
    e, el = part.edge_rounds, part.most_steps
    alpha_u = part.alpha_u.double()
    n_u = e + 3 * beta * eta * el + 4 * beta * eta * e * (alpha_u + 15 * e * beta**2 * eta**2 * el**3)
    counts = (alpha_u > 0) & (part.gradient_sq > 0)
    lost = torch.where(counts, (1 / part.p_sc.double() - 1) * part.gradient_sq.double(), 0.0)
    return (part.alpha * n_u * lost).sum(dim=(1, 2))


def _check(part: Shares, omega: Tensor) -> None:
    if bool((omega <= 0).any()):
        idle = (omega <= 0).nonzero().flatten().tolist()
        raise ValueError(f"nobody trains in round(s) {idle}: Omega^k = 0 and (21) is not defined; leave them out")
    group_total = group_sum(part.alpha_u.double().flatten(0, 1).T, part.edge, part.alpha_b.shape[1])
    if bool((group_total > 1 + 1e-9).any()) or bool(((part.alpha_b.sum(dim=1) - 1).abs() > 1e-6).any()):
        raise ValueError("weights alpha_u must sum to 1 over an edge's selected clients, alpha_b over the edges")
