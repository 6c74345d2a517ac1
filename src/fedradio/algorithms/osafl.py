"""OSAFL: averaging of mean updates weighted by online scores; and AFA-CD, the same without scores.

A client sends its mean update ``-eta d_u = (w_kappa - w_0)/kappa`` (16), in units of a change, so that receivers need
to know neither its rate nor its number of steps. By hand, ``chi = 1``, two clients with updates (1, 0) and (0, 1): the
mean is (.5, .5), both cosines are 1/sqrt(2), both scores (1 + .7071)/2 = .8536, the step eta_g (.4268, .4268).

**The start value.** Algorithms 2 and 9 begin a client's ``d_u`` as ``w/eta``, and renew it while the client has never
come. With ``f`` the share of such clients, a round of AFA-CD then multiplies the model by ``1 - f eta/eta_L`` before it
adds anything: a model that shrinks to 0 where ``0 < f eta/eta_L < 2``, and predicts one label for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.averaging import add_total, shares_of_arrived
from fedradio.algorithms.ledger import NEVER_SEEN, NeverSeen, ledger_of, mix
from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import (
    MODEL,
    Algorithm,
    Cohort,
    Delivery,
    Held,
    Info,
    Ledger,
    LocalRule,
    Memory,
    Merged,
    Slots,
    Trained,
    Work,
)
from fedradio.core.contracts.algorithm import AGE, SENT
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register

Normaliser = Literal["updates", "steps"]
Score = Literal["similarity", "exact", "none"]

KAPPA, RATE = "kappa", "rate"
"""Ledger slots ``[C]`` of the exact score: local steps and mean learning rate of each client's last contribution."""

CHANGES = Ledger()
"""Every client's last mean update is remembered."""

NORMALISER = Arg(
    "divide a change by its local updates, or, as (16) prints it, by its local steps; the same if a step is one update"
)


@dataclass(frozen=True)
class AfaCd(Algorithm):
    """Anarchic averaging of mean updates, see :func:`afa_cd`."""

    server_lr: float = 10.0
    ledger: Ledger | None = CHANGES
    normalise: Normaliser = "updates"

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("a mean update", rule)
        return rule

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        """Mean updates ``D_u / kappa_u``, computed in place of the changes, which clients do not keep."""
        number = work.effective if self.normalise == "updates" else work.steps
        return trained.delta.div_(number.to(trained.delta).unsqueeze(1)).unsqueeze(1)

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return add_total(held, delivery, self.server_lr)


@dataclass(frozen=True)
class Constants:
    """Constants of Theorem 1 that the exact score (34) needs: ``smoothness`` beta, ``variance`` sigma^2 of a mini-batch
    gradient, ``shift`` Phi of the data, ``divergence`` rho_2 delta of the clients, ``rho_1``; the same for all."""

    smoothness: float = 1.0
    variance: float = 1.0
    shift: float = 0.0
    divergence: float = 0.0
    rho_1: float = 1.0


@dataclass(frozen=True)
class Osafl(AfaCd):
    """Averaging of mean updates weighed by online scores, see :func:`osafl`."""

    chi: float = 1.0
    score: Score = "similarity"
    constants: Constants = Constants()

    @property
    def reveals(self) -> frozenset[str]:
        """Nothing; steps and rates where scores are exact, which the paper's clients do not tell."""
        return frozenset({"steps", "updates", "rate"}) if self.score == "exact" else frozenset()

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        ledger = {"score": torch.zeros(clients, dtype=torch.float64)}
        if self.score == "exact":
            ledger |= {name: torch.ones(clients, dtype=torch.float64) for name in (KAPPA, RATE)}
        return Memory(shared={MODEL: w}, ledger=ledger)

    def coefficients(self, held: Held, info: Info) -> tuple[Slots, Tensor]:
        """Weights ``alpha_u Delta_u`` (17) with ``alpha_u = 1/U`` and the scores (21), (34) or 1."""
        ledger, share = super().coefficients(held, info)
        if self.score == "none":
            score = torch.ones_like(share)
        else:
            score = scores(ledger[SENT], info.parent, info.receivers, self.chi)
        if self.score == "exact":
            ledger = ledger | _last_work(ledger, info)
            score = score * exact_factor(share, ledger[KAPPA], ledger[RATE], self.server_lr, self.constants)
        seen = ledger[AGE] >= 0
        return ledger | {"score": torch.where(seen, score, 0.0)}, share * score


def _last_work(ledger: Slots, info: Info) -> Slots:
    """Local steps and mean learning rate ``[C]`` of every client's last contribution, after this exchange."""
    rows = info.arrived.nonzero().flatten()
    ids, known = info.ids[rows], {name: info.known[name].double()[rows] for name in ("steps", "updates", "rate")}
    rate = known["rate"] / known["updates"]
    return {KAPPA: ledger[KAPPA].index_copy(0, ids, known["steps"]), RATE: ledger[RATE].index_copy(0, ids, rate)}


def exact_factor(alpha: Tensor, kappa: Tensor, rate: Tensor, server_lr: float, constants: Constants) -> Tensor:
    """Exact score (34) in units of the similarity, ``C_u / (2 beta eta eta_g sigma^2 alpha_u^2 + C_u)``, ``[C]``, with
    ``C_u = 8 alpha kappa (beta eta)^2 sigma^2 + (64 Phi + 32 rho_2 delta + 32 rho_1) alpha (beta eta kappa)^2``.

    By hand, alpha = 1/2, kappa = 2, eta = .1, eta_g = 10, beta = sigma^2 = rho_1 = 1, Phi = delta = 0: ``C`` is
    ``.08 + .64 = .72``, the other term ``2 * .1 * 10 / 4 = .5``, the factor ``.72/1.22 = .5902``. At rate 0 the factor
    is its limit: 0, or 1 without variance.
    """
    c = constants
    step = c.smoothness * rate
    drift = 64 * c.shift + 32 * c.divergence + 32 * c.rho_1
    gain = 8 * alpha * kappa * step**2 * c.variance + drift * alpha * (step * kappa) ** 2
    limit = 0.0 if c.variance > 0 else 1.0
    return torch.where(rate > 0, gain / (2 * step * server_lr * c.variance * alpha**2 + gain), limit)


def scores(sent: Tensor, parent: Tensor, receivers: int, chi: float) -> Tensor:
    """Scores ``lambda_u = (chi + cos(d, d_u)) / (chi + 1)`` (19)-(21), ``[C]`` in [0, 1]; ``d`` is a receiver's mean.

    A row of zeros, of a client that was never seen, has cosine 0.
    """
    share = group_share(torch.ones(len(parent), dtype=torch.float64), parent, receivers)
    mean = mix(sent, share, parent, receivers)  # [R, d]
    dots = (sent @ mean.T).double().cpu().gather(1, parent.unsqueeze(1)).squeeze(1)
    lengths = [torch.linalg.vector_norm(rows, dim=1).double().cpu() for rows in (sent, mean)]
    norms = lengths[0] * lengths[1][parent]
    cosine = torch.where(norms > 0, dots / norms.clamp(min=torch.finfo(torch.float64).tiny), 0.0).clamp(-1.0, 1.0)
    return (chi + cosine) / (chi + 1.0)


@register("algorithm", "osafl", paper="OSAFL, eqs. (14)-(21) and Algorithm 2")
def osafl(
    *,
    server_lr: Annotated[float, Arg("global learning rate eta~, multiplied by the local one", gt=0, le=1e4)] = 10.0,
    chi: Annotated[
        float, Arg("chi of the scores: at 1, a client whose update opposes the mean has score 0", ge=1, le=1e6)
    ] = 1.0,
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
    normalise: Annotated[Normaliser, NORMALISER] = "updates",
    score: Annotated[
        Score, Arg("similarity (35); the exact minimiser (34) for the constants below; or none, where every score is 1")
    ] = "similarity",
    smoothness: Annotated[float, Arg("beta of the exact score: smoothness of the costs", gt=0, le=1e9)] = 1.0,
    variance: Annotated[float, Arg("sigma^2 of the exact score: variance of a batch's gradient", ge=0, le=1e9)] = 1.0,
    shift: Annotated[
        float, Arg("Phi of the exact score: squared change of a gradient caused by new data", ge=0, le=1e9)
    ] = (0.0),
    divergence: Annotated[float, Arg("rho_2 delta of the exact score: how much clients differ", ge=0, le=1e9)] = 0.0,
    rho_1: Annotated[float, Arg("rho_1 of the exact score (Assumption 3)", ge=1, le=1e9)] = 1.0,
) -> Osafl:
    """OSAFL, online-score-aided averaging: every client's last mean update, weighted by its similarity to their mean.

    ``w -= eta~ eta sum_u lambda_u d_u / U`` over all clients, whether or not they could take part in this round. The
    receiver does not know any client's data size or number of steps. The exact score (34) is the similarity times a
    factor below 1 that depends on constants unknown to any real server, and on every client's steps and rate, which it
    reveals.
    """
    constants = Constants(smoothness, variance, shift, divergence, rho_1)
    if score != "exact" and constants != Constants():
        reason = "the constants of Theorem 1 are used by the exact score only"
        raise SpecError(Problem("algorithm.score", reason, "use exact, or leave the constants out", score))
    ledger = ledger_of("gradients", never_seen, publishes=("score",))
    return Osafl(server_lr, ledger, normalise, chi=chi, score=score, constants=constants)


@register("algorithm", "afa_cd", paper="Yang et al., ICML 2022, Algorithm 2; OSAFL, Algorithm 9 (buffer: gradients)")
def afa_cd(
    *,
    server_lr: Annotated[float, Arg("ratio of global to local rate, eta / eta_L", gt=0, le=1e4)] = 10.0,
    buffer: Annotated[
        Literal["none", "gradients"], Arg("whether receivers remember each client's last mean update")
    ] = "gradients",
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
    normalise: Annotated[Normaliser, NORMALISER] = "updates",
) -> AfaCd:
    """AFA-CD, anarchic federated averaging, cross-device: the mean of the mean updates, ``w -= eta mean_u d_u``."""
    return AfaCd(server_lr, ledger_of(buffer, never_seen), normalise)
