"""FedCPSL's semi-supervised costs of one model or of a pair, and their gradients in closed form (eqs. (4)-(14)).

With ``z`` logits, ``h = softmax(z)``, ``C`` classes, ``L`` the labelled and ``U`` the unlabelled samples of an update::

    f = mean_L CE(y, h) + alpha_p mean_U CE(nu, h) + alpha_r mean_U [KL(nu, 1/C) + KL(h, 1/C)]    (4)

Labelled and unlabelled samples stand in one list of ``n``. With ``log p`` the log-probabilities of a sample, ``t`` its
(pseudo-)label, and the weights ``pull`` and ``flat`` of :class:`Targets`, the cost is the sum of

    ``-pull <t, log p> + flat (<p, log p> + <t, log t> + 2 log C)``

over the samples. Everything is computed from log-probabilities, never from quotients or powers of probabilities, and
holds for any finite logits. Of a pair, both models see the same samples, and both gradients are taken before either
moves (11)-(14).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Batch, LocalRule, Loss, Model, Outputs, Schedule
from fedradio.core.errors import Problem

OWN, MIXED = "own", "mixture"
"""The further row of a pair, a client's own model, and the weight of this in the mixture, known of each client."""


@dataclass(frozen=True)
class FedCpslLoss(Loss):
    """The cost (4), and with ``pair`` that of a client's own model besides.

    An update has ``unlabelled_batch`` unlabelled samples (0: none are drawn, and their terms are absent). Pseudo-labels
    ``nu`` are fixed for the round: ``closed`` is ``softmax((alpha_p/alpha_r) z)`` of the received model, ``gradient``
    one projected step (10) at ``pseudo_rate`` from those that the client has kept. With ``pseudo_on`` "labelled" the
    unlabelled samples are drawn from the labelled ones: a control that adds no inputs. With ``pair`` every client also
    trains a model of its own on the mixture ``b h_own + (1-b) h``, ``h`` held fixed (5), at ``lr_factor`` times the
    rate, with ``momentum_own``, and with a ``schedule`` of its own if there is one.
    """

    alpha_p: float = 0.0
    alpha_r: float = 0.0
    unlabelled_batch: int = 0
    pseudo: Literal["closed", "gradient"] = "closed"
    pair: bool = False
    lr_factor: float = 1.0
    momentum_own: float = 0.0
    schedule: Schedule | None = None
    pseudo_rate: float | None = None
    pseudo_on: Literal["unlabelled", "labelled"] = "unlabelled"
    target_note = "pseudo_accuracy"

    @property
    def trains(self) -> tuple[str, ...]:
        return ("w", OWN) if self.pair else ("w",)

    @property
    def makes_targets(self) -> bool:
        return self.alpha_p > 0.0

    @property
    def keeps_targets(self) -> bool:
        return self.pseudo == "gradient" and self.alpha_p > 0.0 and self.unlabelled_batch > 0

    @property
    def stand_in(self) -> bool:
        return self.pseudo_on == "labelled"

    @property
    def warning(self) -> str:
        """Pseudo-labels that multiply their own errors."""
        growth = reinforcement(self.alpha_p, self.alpha_r)
        if growth <= 1:
            return ""
        return (
            f"algorithm: pseudo-labels multiply their own errors by {growth:.3g} per round; "
            "a larger alpha_r or a smaller alpha_p keeps them in check"
        )

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        to, log_h = targets(self, batch), out["w"].logits.log_softmax(-1)
        if not self.pair:
            return {"w": cost(log_h, to)}
        log_own = out[OWN].logits.log_softmax(-1)
        return {"w": cost(log_h, to), OWN: cost(mix(log_own, log_h.detach(), _weight(batch)), to)}

    def slopes(self, out: Mapping[str, Outputs], batch: Batch) -> tuple[Tensor, Mapping[str, Outputs]]:
        to, log_h = targets(self, batch), out["w"].logits.log_softmax(-1)
        slopes = {"w": Outputs(gradient(log_h, to))}
        if self.pair:
            log_own = out[OWN].logits.log_softmax(-1)
            slopes[OWN] = Outputs(mixture_gradient(log_own, log_h, _weight(batch), to))
        return cost(log_h, to), slopes

    def targets(self, z: Tensor, before: Tensor | None = None) -> Tensor:
        return pseudo_labels(self, z, before)

    def row_rule(self, row: str, rule: LocalRule) -> LocalRule:
        """Own models: another rate and momentum, no proximal term."""
        schedule = self.schedule or rule.schedule
        return replace(rule, lr=rule.lr * self.lr_factor, momentum=self.momentum_own, prox=0.0, schedule=schedule)

    def passes(self, rule: LocalRule, t: int, labelled: bool, unlabelled: bool) -> float:
        """Unlabelled samples are trained on too, and their pseudo-labels cost a forward pass, a third of a training
        pass. Both models of a pair see every sample; where the shared one rests, its forward pass alone is left, and an
        own model that rests costs nothing."""
        more = self.unlabelled_batch / rule.batch if unlabelled else 0.0
        own_schedule = self.schedule or rule.schedule
        models = 1.0 if rule.schedule(t, 0) > 0.0 or not self.pair else 1.0 / 3.0
        models += 1.0 if self.pair and own_schedule(t, 0) > 0.0 else 0.0
        return models * (float(labelled) + more) + (more / 3.0 if self.alpha_p > 0.0 else 0.0)

    def check(self, rule: LocalRule, model: Model) -> list[Problem]:
        problems = []
        if rule.optimiser != "sgd":
            problems.append(
                Problem("rule.kind", "the algorithm's local updates are defined for sgd only", "rule.kind=sgd", "adam")
            )
        if rule.keep_state:
            reason = "the algorithm resets momentum to 0 in every round"
            problems.append(Problem("rule.keep_state", reason, "rule.keep_state=false", rule.keep_state))
        if rule.sharpness > 0:
            reason = "the algorithm's local updates take one gradient each"
            problems.append(Problem("rule.sharpness", reason, "rule.sharpness=0", rule.sharpness))
        if self.pair and (model.local.fields or model.buffers.fields):
            reason = "every client trains its own model besides the shared one, and norm layers would belong to both"
            remedy = "use a model without norm layers, or an algorithm without own models"
            problems.append(Problem("model", reason, remedy))
        return problems


def _weight(batch: Batch) -> Tensor:
    """Weights ``b [k, 1, 1]`` of the own models."""
    return batch.known[MIXED][:, None, None]


def reinforcement(alpha_p: float, alpha_r: float) -> float:
    """Factor by which one alternation of (7a) and (7b) multiplies a small deviation from uniform predictions.

    ``1/(rho (1 + rho))`` with ``rho = alpha_r / alpha_p``: (7a) divides it by ``rho``, and the model that minimises
    ``alpha_p CE(nu, h) + alpha_r KL(h, 1/C)`` follows its pseudo-labels by ``1/(1 + rho)``. Above 1, which is for
    ``rho`` below .618, unlabelled data alone drive the predictions to a corner, right or wrong.
    """
    if alpha_p == 0:
        return 0.0
    rho = alpha_r / alpha_p
    return math.inf if rho == 0 else 1 / (rho * (1 + rho))


@dataclass(frozen=True)
class Targets:
    """Training targets of a mini-batch: ``label [..., n, C]``, one-hot or pseudo, each row a distribution.

    ``pull [..., n, 1]`` weighs a sample's cross entropy: ``1/n_L`` if labelled, ``alpha_p/n_U`` if not; ``flat
    [..., n, 1]`` its divergence from the uniform distribution: 0 and ``alpha_r/n_U``. Both are 0 for padded samples.
    """

    label: Tensor
    pull: Tensor
    flat: Tensor


def targets(loss: FedCpslLoss, batch: Batch) -> Targets:
    """Targets of the labelled samples of a mini-batch followed by its unlabelled ones, with their pseudo-labels.

    Where a client has none of a kind, the terms of that kind are absent.
    """
    nu = batch.targets
    hot = nu.new_zeros(*batch.y.shape, nu.shape[-1]).scatter_(-1, batch.y.unsqueeze(-1), 1.0)
    with_label, without = batch.weight.unsqueeze(-1), batch.target_weight.unsqueeze(-1)
    pull = torch.cat([with_label, loss.alpha_p * without], dim=-2)
    flat = torch.cat([torch.zeros_like(with_label), loss.alpha_r * without], dim=-2)
    return Targets(torch.cat([hot, nu], dim=-2), pull, flat)


def cost(log_p: Tensor, to: Targets) -> Tensor:
    """The cost ``f [...]`` (4) of log-probabilities ``[..., n, C]``; of the mixture's it is ``F`` (6c)."""
    classes = log_p.shape[-1]
    fit = (to.label * log_p).sum(-1, keepdim=True)
    spread = (log_p.exp() * log_p + torch.xlogy(to.label, to.label)).sum(-1, keepdim=True) + 2.0 * math.log(classes)
    return (to.flat * spread - to.pull * fit).sum((-2, -1))


def gradient(log_h: Tensor, to: Targets) -> Tensor:
    """Gradient ``df/dz [..., n, C]`` of the cost, from ``log_h = log_softmax(z)``.

    Per sample ``pull (h - t) + flat h (log h - <h, log h>)``.
    """
    h = log_h.exp()
    mean = (h * log_h).sum(-1, keepdim=True)
    return h * (to.pull + to.flat * (log_h - mean)) - to.pull * to.label


def mix(log_own: Tensor, log_h: Tensor, b: Tensor) -> Tensor:
    """Mixture ``log(b h_own + (1-b) h)`` (5); ``b`` in [0, 1] broadcasts. Its ends are exact: ``-inf`` adds nothing."""
    return torch.logaddexp(b.log() + log_own, torch.log1p(-b) + log_h)


def mixture_gradient(log_own: Tensor, log_h: Tensor, b: Tensor, to: Targets) -> Tensor:
    """Gradient ``dF/dz_own [..., n, C]``, from ``log_own = log_softmax(z_own)`` and the other model's fixed ``log_h``.

    With ``q = h_own`` and its share ``r = b q/p`` of the mixture ``p``, per sample
    ``pull (q <t, r> - t r) + flat b q (log p - <q, log p>)``: for ``b = 1`` :func:`gradient`, for ``b = 0`` zero.
    """
    log_p = mix(log_own, log_h, b)
    q = log_own.exp()
    credit = to.pull * to.label * (b.log() + log_own - log_p).exp()
    mean = (q * log_p).sum(-1, keepdim=True)
    return q * (credit.sum(-1, keepdim=True) + to.flat * b * (log_p - mean)) - credit


def pseudo_labels(loss: FedCpslLoss, z: Tensor, before: Tensor | None = None) -> Tensor:
    """Pseudo-labels ``nu [..., C]`` from the logits ``z [..., C]`` of the received model.

    ``closed`` minimises f over ``nu`` (7a): ``nu = softmax((alpha_p/alpha_r) z)``. ``gradient`` is one projected step
    (10) from the kept labels ``before [..., C]``, uniform where there are none, see :func:`gradient_step`.

    Without a regulariser (``alpha_r = 0``) both are the limit: all on the largest logit, equals sharing, unless the
    gradient's rate is given. Without a pull (``alpha_p = 0``) both are uniform.
    """
    classes = z.shape[-1]
    uniform = torch.full_like(z, 1.0 / classes)
    if loss.alpha_p == 0.0:
        return uniform
    if loss.pseudo == "gradient" and (loss.alpha_r > 0.0 or loss.pseudo_rate is not None):
        return gradient_step(loss, z, uniform if before is None else before)
    ratio = loss.alpha_p / loss.alpha_r if loss.alpha_r > 0.0 else math.inf
    below = z - z.amax(-1, keepdim=True)  # the softmax does not change
    return torch.where(below == 0.0, below, ratio * below).softmax(-1)  # 0 stays 0 for an infinite ratio


def gradient_step(loss: FedCpslLoss, z: Tensor, nu: Tensor) -> Tensor:
    """Labels after one step (10), ``nu - rate (alpha_r log nu - alpha_p log h)`` projected on the simplex.

    ``rate = eta_v / m_i``: f has the mean over a client's ``m_i`` samples. Without a ``pseudo_rate`` it is the largest
    one that the theorems allow, ``1/(4L)`` with ``L = C alpha_r`` the curvature of a sample's cost at uniform labels.
    The entropy has no finite slope at 0, where a step of any rate would jump about: below ``nu = rate alpha_r`` it is
    continued by its tangent, so that the rate is nowhere above ``1/L``.

    By hand: alpha_p .2, alpha_r .1, h = (1/4, 3/4), nu = (.7, .3). The slopes are .2416 and -.0629, the rate is 1.25,
    and (.3980, .3786) is projected to (.5097, .4903).
    """
    rate = loss.pseudo_rate
    if rate is None:
        rate = 1.0 / (4.0 * z.shape[-1] * loss.alpha_r)
    below = z - z.amax(-1, keepdim=True)  # in place of log h: the projection does not change
    moved = nu + torch.where(below == 0.0, below, rate * loss.alpha_p * below)  # 0 stays 0 for any ratio
    if loss.alpha_r > 0.0:
        flat = rate * loss.alpha_r
        moved = moved - flat * nu.clamp(min=flat).log()
    return project(moved)


def project(v: Tensor) -> Tensor:
    """Euclidean projection of ``v [..., C]`` on the probability simplex: ``max(v - tau, 0)`` with the right ``tau``.

    In decreasing order the first ``m`` entries stay positive, ``m`` the last position at which the entry exceeds the
    ``tau`` that makes the entries up to it sum to 1. Entries of ``-inf`` become 0.
    """
    v = v - v.amax(-1, keepdim=True)  # the projection does not change, and the sums below lose no digits
    falling = v.sort(-1, descending=True).values
    places = torch.arange(1, v.shape[-1] + 1, dtype=v.dtype, device=v.device)
    tau = (falling.cumsum(-1) - 1.0) / places
    positive = (falling > tau).sum(-1, keepdim=True).clamp(min=1)  # true for a prefix; never if v is not a number
    tau = tau.gather(-1, positive - 1)
    return (v - tau).clamp(min=0.0)
