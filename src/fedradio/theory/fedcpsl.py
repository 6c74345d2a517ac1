"""FedCPSL's convergence bounds (35) and (39), their conditions (34), (36)-(38), and self-reinforcing pseudo-labels.

Theorem 1 bounds the mean over R rounds of ``|grad_theta f|^2 + 31L/64 sum_i w_i |nu_i^(r+1) - nu_i^r|^2`` (33), Theorem
2 that of ``sum_i w_i |grad F_i|^2`` in the own models. ``m`` of ``N`` clients are sampled uniformly, pseudo-labels make
one gradient step (10). All in float64.

Symbols: ``eta, eta_g, eta_c, eta_v`` rates of local steps, server, own models, pseudo-labels; ``eta~ = eta eta_g``;
``Q-bar`` and ``Q_`` largest and smallest ``Qt`` (15); ``S`` samples of a mini-batch, labelled and not; ``L, L_F, L_h``
smoothness of f_i, F_i and of the outputs h, ``L~`` of the cost in the outputs, ``mu`` its modulus; ``Gamma`` bounds
distances of outputs (32), at most sqrt(2) for probabilities.

**Typos.** (9) means that theta_lc goes on from where its client's last round ended. (26) is strong convexity in nu: its
gradient is that in nu. In (20) the k-th gradient is at ``theta^(r,k)``. Phase 1 solves (6b), not (6a). The first term
of (39) is about F, which equals f where own models start at theta^0.

**Where the print does not hold.** ``corrected`` mends 1-3; everything else is as printed.

1. (37) lacks eta_g: (130) and (132) need ``eta_c <= eta~ N L^2 / (Q_ m L_F^2)`` and ``eta_c <= eta~ N / (Q_ m)``. The
   print asks for more where eta_g > 1, for too little below.
2. (38) lacks L: (131) needs ``D_0 <= 11L/8 + 11mL/(2N)``, for D_0 has the unit of L.
3. Term (b) of (39) lacks D_0: (79) enters (123) times ``D_0 N / (eta_c Q_ m)``, and the others kept it.
4. (37) makes eta_c fall with eta, and terms (d), (e) have eta_c below the line: with ``eta = O(R^(-1/2))`` of Corollary
   2 the "ball" around a stationary point grows like ``R^(1/2)``.
5. (33) weighs moves of pseudo-labels by ``31L/64``. Its proof (68) gives ``31 m L / (16 N eta~)`` for the moves that
   all clients would make (47), of which the sampled ones make ``m/N``: that needs ``eta~ <= 4``, which (34) implies
   for ``L >= m/(192 N)`` only. (62) prints ``4m/N`` for ``8m/N``, twice that of (55); ``C_2 >= 0`` holds all the same.
6. Assumptions 2 and 3 do not hold for the costs (41)-(43): ``nu log nu`` and ``log h`` have no bounded curvature at 0.
7. Even where they hold, the conditions are far from practice: with N = 20, m = 2, gamma = .8, 16 steps and eta = .005,
   the published setting, (34) needs ``L <= .0085``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Constants:
    """Assumed constants: ``L``, ``sigma^2``; for Theorem 2 also ``L_F``, ``L~``, ``L_h``, ``mu``, ``Gamma``."""

    smoothness: float
    variance: float = 0.0
    smoothness_own: float = 1.0
    smoothness_cost: float = 1.0
    smoothness_output: float = 1.0
    convexity: float = 0.0
    spread: float = math.sqrt(2.0)


@dataclass(frozen=True)
class Setting:
    """Parameters of the algorithm: ``N`` clients with shares ``share [N]`` and mixture weights ``mixture [N]``, ``m``
    of them sampled; rates; the largest and smallest effective steps; samples of a mini-batch."""

    clients: int
    sampled: int
    lr: float
    global_lr: float
    own_lr: float
    pseudo_lr: float
    most: float
    least: float
    batch: int
    share: Tensor
    mixture: Tensor

    @property
    def rate(self) -> float:
        """Effective rate ``eta~ = eta eta_g``."""
        return self.lr * self.global_lr


@dataclass(frozen=True)
class Condition:
    """A condition ``quantity <= term`` of an equation, in numbers ``value <= limit``."""

    equation: str
    quantity: str
    term: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        sign = "within" if self.holds else "above"
        return f"{self.equation}: {self.quantity} = {self.value:.3g} is {sign} {self.term} = {self.limit:.3g}"


def d_0(setting: Setting, constants: Constants) -> float:
    """``D_0 = sum_i w_i (1-b_i) (4 b_i L~ L_h Gamma + 5L) / 4``."""
    b = setting.mixture
    cross = 4 * b * constants.smoothness_cost * constants.smoothness_output * constants.spread
    return float((setting.share * (1 - b) * (cross + 5 * constants.smoothness)).sum() / 4)


def conditions_34(setting: Setting, constants: Constants) -> list[Condition]:
    """Conditions of Theorem 1: (34), ``eta_v <= 1/(4L)`` and ``m < N`` of its text, and what (33) needs."""
    n, m, g = setting.clients, setting.sampled, setting.global_lr
    smooth, most = constants.smoothness, setting.most
    limits = {
        "m/(48 eta_g N L)": m / (48 * g * n * smooth),
        "1/(8 L Q-bar)": 1 / (8 * smooth * most),
        "3 eta_g N/(100 m L Q-bar^2)": 3 * g * n / (100 * m * smooth * most**2),
        "m/(32 eta_g N L) (1 + 2N/m)^(-1/2)": m / (32 * g * n * smooth) / math.sqrt(1 + 2 * n / m),
    }
    conditions = [Condition("(34)", "eta", term, setting.lr, limit) for term, limit in limits.items()]
    conditions.append(Condition("Theorem 1", "eta_v", "1/(4L)", setting.pseudo_lr, 1 / (4 * smooth)))
    conditions.append(Condition("Theorem 1", "m", "N - 1", m, n - 1))
    return [*conditions, Condition("(33)", "m/(192 N)", "L", m / (192 * n), smooth)]


def conditions_36_to_38(setting: Setting, constants: Constants, *, corrected: bool = False) -> list[Condition]:
    """Conditions of Theorem 2: (34) with one more term, (37) and (38)."""
    n, m, d0 = setting.clients, setting.sampled, d_0(setting, constants)
    smooth, own = constants.smoothness, constants.smoothness_own
    extra = m / (48 * setting.global_lr * n * d0) if d0 > 0 else math.inf
    conditions = conditions_34(setting, constants)
    conditions.append(Condition("(36)", "eta", "m/(48 eta_g N D_0)", setting.lr, extra))
    rate, name = (setting.rate, "eta eta_g") if corrected else (setting.lr, "eta")
    ratio = rate * n / (setting.least * m)
    limits = {
        "1/(2 Q-bar L_F)": 1 / (2 * setting.most * own),
        f"{name} N L^2/(Q_ m L_F^2)": ratio * smooth**2 / own**2,
        f"{name} N/(Q_ m)": ratio,
    }
    conditions += [Condition("(37)", "eta_c", term, setting.own_lr, limit) for term, limit in limits.items()]
    last, unit = ("11mL/(2N)", smooth) if corrected else ("11m/(2N)", 1.0)
    limit = 11 * smooth / 8 + 11 * m * unit / (2 * n)
    return [*conditions, Condition("(38)", "D_0", f"11L/8 + {last}", d0, limit)]


def corollary_1(setting: Setting, rounds: int) -> tuple[float, float]:
    """Rate ``eta = sqrt(m/(eta_g N R))`` of both corollaries and the order ``sqrt(N/(m eta_g R))`` of the bound that
    Corollary 1 promises with it, both without the constants that the print leaves open."""
    n, m, g = setting.clients, setting.sampled, setting.global_lr
    return math.sqrt(m / (g * n * rounds)), math.sqrt(n / (m * g * rounds))


def gap_33(gradient_sq: float, label_moves: Tensor, setting: Setting, constants: Constants) -> float:
    """Optimality gap (33): ``|grad f|^2 + 31L/64 sum_i w_i |nu_i^(r+1) - nu_i^r|^2``; ``label_moves [N]`` squared."""
    return gradient_sq + 31 * constants.smoothness / 64 * float(setting.share @ label_moves.double())


def potential_48(f: float, xi: float, setting: Setting, constants: Constants) -> float:
    """Potential ``P = f + 24 eta~^2 N^2 L Xi / m^2`` (48), ``Xi = sum_i w_i |grad f_i - c_i|^2`` (46)."""
    ratio = setting.rate * setting.clients / setting.sampled
    return f + 24 * ratio**2 * constants.smoothness * xi


@dataclass(frozen=True)
class Bound35:
    """The right-hand side of (35): the term of the initial gap, and gradient noise."""

    gap: float
    noise: float

    @property
    def total(self) -> float:
        return self.gap + self.noise


@dataclass(frozen=True)
class Bound39:
    """The right-hand side of (39): the terms of the initial cost and potential, and its five named terms."""

    cost: float
    potential: float
    a: float
    b: float
    c: float
    d: float
    e: float

    @property
    def ball(self) -> float:
        """Terms ``(d) + (e)``, which do not vanish with the number of rounds."""
        return self.d + self.e

    @property
    def total(self) -> float:
        return self.cost + self.potential + self.a + self.b + self.c + self.ball


def bound_35(setting: Setting, constants: Constants, rounds: int, gap: float) -> Bound35:
    """Bound (35) of Theorem 1; ``gap`` is ``P^0`` (48) less the lowest cost."""
    noise = 12 * setting.rate * setting.clients * constants.smoothness * constants.variance
    noise /= setting.sampled * setting.batch
    return Bound35(4 * gap / (setting.rate * rounds), _factor(setting, constants) * noise)


def bound_39(
    setting: Setting, constants: Constants, rounds: int, cost_gap: float, gap: float, *, corrected: bool = False
) -> Bound39:
    """Bound (39) of Theorem 2; ``cost_gap`` is the initial cost less the lowest, ``gap`` as in :func:`bound_35`."""
    b, w = setting.mixture, setting.share
    own, own_lr = constants.smoothness_own, setting.own_lr
    scale = setting.clients / (own_lr * setting.least * setting.sampled)
    noise = constants.variance / setting.batch
    wander = scale * setting.rate**2 * setting.clients / setting.sampled * noise
    cost, spread2 = constants.smoothness_cost, constants.spread**2
    pull = float((w * b * (1 - b) * (b * (cost - constants.convexity) + cost)).sum())
    labels = 3 * cost**2 * spread2 / (2 * own_lr * setting.least * constants.smoothness)
    return Bound39(
        cost=3 * scale * cost_gap / rounds,
        potential=5.5 * scale * gap / rounds,
        a=1.5 * own_lr * own * (own_lr * own + 1) * setting.most * noise,
        b=1.5 * wander * (d_0(setting, constants) if corrected else 1.0),
        c=66 * _factor(setting, constants) * wander * constants.smoothness,
        d=labels * float((w * b**2).sum()),
        e=3 * scale * spread2 * pull,
    )


def _factor(setting: Setting, constants: Constants) -> float:
    """Factor ``259/64 + m/N + 5 eta m L Q-bar^2 / (24 eta_g N)`` of the noise terms."""
    share = setting.sampled / setting.clients
    drift = 5 * setting.lr * share * constants.smoothness * setting.most**2 / (24 * setting.global_lr)
    return 259 / 64 + share + drift
