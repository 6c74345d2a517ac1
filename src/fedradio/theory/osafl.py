"""OSAFL's convergence bound and the score it suggests: Theorem 1 (eq. (24)) and (34).

The theorem bounds ``1/T sum_t E|grad f(w^t|D^t)|^2`` for the surrogate loss ``f = sum_u alpha_u Delta_u f_u`` (18) of
clients that take ``kappa_u`` SGD steps of rate ``eta`` and of a server that moves by
``-eta_g eta sum_u alpha_u Delta_u d_u`` (17), ``d_u`` a client's mean gradient. Each term of (24) has the unit of a
squared gradient; ``beta eta`` has none. All in float64.

Symbols: ``beta`` smoothness of every f_u; ``sigma^2`` variance of a mini-batch gradient; ``rho_1 >= 1``, ``rho_2`` and
``delta_u`` of Assumption 3, ``|grad f_u|^2 <= rho_1 |grad f|^2 + rho_2 delta_u``; ``Phi_u`` bounds how far a round's
new samples move a client's gradient, squared (23); ``Delta_u`` its score, ``lambda_u`` its similarity (21).

**Typos.** In (12) the factor ``1 + p/u`` belongs into the denominator, as in (50) (see :mod:`fedradio.policies.sca`).
The denominator of (21) is ``chi + 1``. ``C_u`` below (33) lacks ``psi`` in its last term: it is printed for psi = 1.
``gamma_u`` in (34) is the multiplier of ``Delta_u >= 0``, hence 0 for every positive score, and 0 too where
``lambda_u = 0`` makes the score 0: the "constant" of (35) is always 0, and what is left is a coefficient below 1.

**Where the print does not hold.** The algebra from (76) to (79) and the derivative (33) are right. These are not:

1. (24) divides by ``A^t``, which has to be positive. Theorem 1 asks for ``eta < 1/(2 sqrt2 beta kappa)`` only; between
   ``1/(4 beta kappa)`` and that limit ``A^t < 0`` (equal steps, scores and similarities 1): the bound is negative.
2. Remark 3 and (26) drop the quotient ``1/A^t``, which is above 1. One client with exact gradients of ``beta w^2/2``
   and ``eta_g = 1/(beta eta)`` has (26) over measured ``= 1 - (1 - r)^2`` with ``r = (1 - (1 - beta eta)^kappa) /
   (beta eta kappa)``, below 1 for every kappa >= 2.
3. (65) is the descent of one function, but its sides have the data and the scores of different rounds. If new samples
   have a higher loss and the same gradient (``Phi = 0``), the first term is negative without any progress.
4. (67) step (a) takes scores as fixed. They are functions of the very gradients that they weigh, so that
   ``E[Delta_u d_u] != E[Delta_u] E[d_u]``. With skewed noise even identical clients go to a point that is not
   stationary, and no term of (24) stays as eta -> 0 to cover that.
5. (71) splits ``Delta = (Delta - lambda) + lambda`` and gets ``2 B_u >= Delta_u^2`` for what is ``Delta_u^2``. Any
   number in place of lambda would do, the best is ``Delta/2``, and with ``Delta^2`` itself the score that minimises
   (30) is 0. So the proof does not single out the similarity: (35) is a heuristic.
6. (74) replaces a sum over earlier steps by the last one and (76) drops the denominator of (75), below 1. This does no
   harm, for the factors are large: with exact gradients, fixed data and fixed scores in [0, 1], (24) holds wherever
   ``A^t > 0``.

Besides, nothing is said on absent clients, whose last ``d_u`` is used again; the left side is the surrogate's, so that
scores near 0 make it small by themselves; and "rho_1 = 1 for identical clients" needs scores that average to 1, else
``rho_1 >= 1/(sum_u alpha_u Delta_u)^2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Constants:
    """Assumed constants: ``beta``, ``sigma^2``, and ``rho_1``, ``rho_2`` of Assumption 3."""

    smoothness: float
    variance: float
    rho_1: float = 1.0
    rho_2: float = 0.0


@dataclass(frozen=True)
class Rounds:
    """Quantities of T rounds of U clients: ``alpha [U]``, summing to 1; ``steps`` kappa, ``score`` Delta,
    ``similarity`` lambda, ``shift`` Phi and ``divergence`` delta, all ``[T, U]``."""

    alpha: Tensor
    steps: Tensor
    score: Tensor
    similarity: Tensor
    shift: Tensor
    divergence: Tensor


@dataclass(frozen=True)
class Bound:
    """The right-hand side of (24), averaged over rounds: its terms by cause, and their sum."""

    gap: float
    variance: float
    shift: float
    divergence: float

    @property
    def total(self) -> float:
        return self.gap + self.variance + self.shift + self.divergence


def b_u(score: Tensor, similarity: Tensor) -> Tensor:
    """Term ``B_u = Delta^2 - 2 Delta lambda + 2 lambda^2 = (Delta - lambda)^2 + lambda^2``; at least ``Delta^2/2``."""
    return (score.double() - similarity.double()) ** 2 + similarity.double() ** 2


def a_t(rounds: Rounds, constants: Constants, lr: float) -> Tensor:
    """Divisor ``A^t = 1 - 16 rho_1 beta^2 eta^2 sum_u alpha_u kappa_u^2 B_u``, ``[T]``; Theorem 1 needs it above 0."""
    return 1 - 16 * constants.rho_1 * (constants.smoothness * lr) ** 2 * _spread(rounds)


def bound_24(rounds: Rounds, constants: Constants, lr: float, global_lr: float, drops: Tensor) -> Bound:
    """Bound (24) of Theorem 1 as printed. ``drops [T]`` are ``f(w^t|D^t) - f(w^(t+1)|D^(t+1))`` of the surrogate loss.

    Where :func:`a_t` is not positive the value is no bound.
    """
    _check(rounds)
    a = a_t(rounds, constants, lr)
    noise, shift, divergence = _terms(rounds, constants, lr, global_lr)
    return Bound(
        gap=float((2 * drops.double() / (lr * global_lr) / a).mean()),
        variance=float((noise / a).mean()),
        shift=float((shift / a).mean()),
        divergence=float((divergence / a).mean()),
    )


def rate_limits(rounds: Rounds, constants: Constants, global_lr: float) -> tuple[float, float]:
    """The condition on eta as printed, ``min(1/(beta eta_g), 1/(2 sqrt2 beta kappa))`` with the largest kappa, and the
    one that (24) needs as well for ``A^t > 0``, ``1/(4 beta sqrt(rho_1 sum_u alpha_u kappa_u^2 B_u))`` (Remark 3)."""
    beta = constants.smoothness
    if beta <= 0:
        return math.inf, math.inf
    printed = min(1 / (beta * global_lr), 1 / (2 * math.sqrt(2) * beta * float(rounds.steps.max())))
    most = constants.rho_1 * float(_spread(rounds).max())
    return printed, min(printed, 1 / (4 * beta * math.sqrt(most)) if most > 0 else math.inf)


def c_u(rounds: Rounds, constants: Constants, lr: float, psi: float = 1.0) -> Tensor:
    """Coefficient ``C_u`` of (33) and (34), ``[T, U]``; the print has psi = 1.

    ``C_u = 8 alpha kappa beta^2 eta^2 sigma^2 + (64 Phi + 32 rho_2 delta + 32 psi rho_1) alpha (beta eta kappa)^2``.
    """
    alpha, kappa, step = rounds.alpha.double(), rounds.steps.double(), constants.smoothness * lr
    drift = 64 * rounds.shift.double() + 32 * constants.rho_2 * rounds.divergence.double() + 32 * psi * constants.rho_1
    return 8 * alpha * kappa * step**2 * constants.variance + drift * alpha * (step * kappa) ** 2


def coefficient_34(rounds: Rounds, constants: Constants, lr: float, global_lr: float, psi: float = 1.0) -> Tensor:
    """Exact score in units of the similarity, ``C_u / (2 beta eta eta_g sigma^2 alpha_u^2 + C_u)``, ``[T, U]``.

    Below 1 by what (35) neglects. With ``alpha = 1/U`` and much noise it is ``1/(1 + eta_g / (4 U beta eta kappa))``:
    few clients, few steps or a large server rate make the exact score smaller than the similarity.
    """
    c = c_u(rounds, constants, lr, psi)
    return c / (2 * constants.smoothness * lr * global_lr * constants.variance * rounds.alpha.double() ** 2 + c)


def score_34(rounds: Rounds, constants: Constants, lr: float, global_lr: float, psi: float = 1.0) -> Tensor:
    """The exact minimiser ``[T, U]`` of (30); ``rounds.score`` is not read. The multiplier gamma_u is 0 throughout.

    ``psi`` stands for the value of (24): set to it, the score minimises (24) itself for a given first term.
    """
    return coefficient_34(rounds, constants, lr, global_lr, psi) * rounds.similarity.double()


def _spread(rounds: Rounds) -> Tensor:
    """Sum ``sum_u alpha_u kappa_u^2 B_u``, ``[T]``."""
    return (rounds.alpha.double() * rounds.steps.double() ** 2 * b_u(rounds.score, rounds.similarity)).sum(dim=1)


def _terms(rounds: Rounds, constants: Constants, lr: float, global_lr: float) -> tuple[Tensor, Tensor, Tensor]:
    """The last three terms of (24) before the quotient, ``[T]`` each: gradient noise, data shift, heterogeneity."""
    alpha, kappa, step = rounds.alpha.double(), rounds.steps.double(), constants.smoothness * lr
    b = b_u(rounds.score, rounds.similarity)
    noise = alpha * (global_lr * alpha * rounds.score.double() ** 2 + 4 * step * kappa * b)
    drift = step**2 * alpha * b * kappa**2
    return (
        step * constants.variance * noise.sum(dim=1),
        32 * (drift * rounds.shift.double()).sum(dim=1),
        16 * constants.rho_2 * (drift * rounds.divergence.double()).sum(dim=1),
    )


def _check(rounds: Rounds) -> None:
    if abs(float(rounds.alpha.double().sum()) - 1) > 1e-6:
        raise ValueError("weights alpha_u must sum to 1")
    if bool((rounds.steps < 1).any()):
        raise ValueError("(24) is for clients that all take part: at least one step each")
    if bool((rounds.score < 0).any()):
        raise ValueError("scores must not be negative (27a)")
