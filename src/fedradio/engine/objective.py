"""Semi-supervised costs and their gradients with respect to logits, in closed form (FedCPSL, eqs. (4)-(10)).

Labelled and unlabelled samples of an update stand in one list of ``n``. With ``log p`` the log-probabilities of a
sample, ``t`` its (pseudo-)label, and the weights ``pull`` and ``flat`` of :class:`Targets`, the cost is the sum of

    ``-pull <t, log p> + flat (<p, log p> + <t, log t> + 2 log C)``

over the samples, which is (4) with ``l`` the cross entropy and ``R = KL(nu, 1/C) + KL(h, 1/C)``. Everything is computed
from log-probabilities, never from quotients or powers of probabilities, and holds for any finite logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Objective


@dataclass(frozen=True)
class Targets:
    """Training targets of a mini-batch: ``label [..., n, C]``, one-hot or pseudo, each row a distribution.

    ``pull [..., n, 1]`` weighs a sample's cross entropy: ``1/n_L`` if labelled, ``alpha_p/n_U`` if not; ``flat
    [..., n, 1]`` its divergence from the uniform distribution: 0 and ``alpha_r/n_U``. Both are 0 for padded samples.
    """

    label: Tensor
    pull: Tensor
    flat: Tensor


def targets(objective: Objective, y: Tensor, labelled: Tensor, nu: Tensor, unlabelled: Tensor) -> Targets:
    """Targets of labelled samples ``y [..., B_L]`` followed by unlabelled ones with pseudo-labels ``nu [..., B_U, C]``.

    The first ``labelled [...]`` and ``unlabelled [...]`` of a client's samples are real, the others padding. Where a
    client has none of a kind, the terms of that kind are absent.
    """
    hot = nu.new_zeros(*y.shape, nu.shape[-1]).scatter_(-1, y.unsqueeze(-1), 1.0)
    with_label, without = _mean_weights(labelled, y.shape[-1], nu), _mean_weights(unlabelled, nu.shape[-2], nu)
    pull = torch.cat([with_label, objective.alpha_p * without], dim=-2)
    flat = torch.cat([torch.zeros_like(with_label), objective.alpha_r * without], dim=-2)
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


def pseudo_labels(objective: Objective, z: Tensor, before: Tensor | None = None) -> Tensor:
    """Pseudo-labels ``nu [..., C]`` from the logits ``z [..., C]`` of the received model.

    ``closed`` minimises f over ``nu`` (7a): ``nu = softmax((alpha_p/alpha_r) z)``. ``gradient`` is one projected step
    (10) from the kept labels ``before [..., C]``, uniform where there are none, see :func:`gradient_step`.

    Without a regulariser (``alpha_r = 0``) both are the limit: all on the largest logit, equals sharing, unless the
    gradient's rate is given. Without a pull (``alpha_p = 0``) both are uniform.
    """
    classes = z.shape[-1]
    uniform = torch.full_like(z, 1.0 / classes)
    if objective.alpha_p == 0.0:
        return uniform
    if objective.pseudo == "gradient" and (objective.alpha_r > 0.0 or objective.pseudo_rate is not None):
        return gradient_step(objective, z, uniform if before is None else before)
    ratio = objective.alpha_p / objective.alpha_r if objective.alpha_r > 0.0 else math.inf
    below = z - z.amax(-1, keepdim=True)  # the softmax does not change
    return torch.where(below == 0.0, below, ratio * below).softmax(-1)  # 0 stays 0 for an infinite ratio


def gradient_step(objective: Objective, z: Tensor, nu: Tensor) -> Tensor:
    """Labels after one step (10), ``nu - rate (alpha_r log nu - alpha_p log h)`` projected on the simplex.

    ``rate = eta_v / m_i``: f has the mean over a client's ``m_i`` samples. Without a ``pseudo_rate`` it is the largest
    one that the theorems allow, ``1/(4L)`` with ``L = C alpha_r`` the curvature of a sample's cost at uniform labels.
    The entropy has no finite slope at 0, where a step of any rate would jump about: below ``nu = rate alpha_r`` it is
    continued by its tangent, so that the rate is nowhere above ``1/L``.

    By hand: alpha_p .2, alpha_r .1, h = (1/4, 3/4), nu = (.7, .3). The slopes are .2416 and -.0629, the rate is 1.25,
    and (.3980, .3786) is projected to (.5097, .4903).
    """
    rate = objective.pseudo_rate
    if rate is None:
        rate = 1.0 / (4.0 * z.shape[-1] * objective.alpha_r)
    below = z - z.amax(-1, keepdim=True)  # in place of log h: the projection does not change
    moved = nu + torch.where(below == 0.0, below, rate * objective.alpha_p * below)  # 0 stays 0 for any ratio
    if objective.alpha_r > 0.0:
        flat = rate * objective.alpha_r
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


def _mean_weights(count: Tensor, width: int, like: Tensor) -> Tensor:
    """Weights ``[..., width, 1]`` of a mean over the first ``count [...]`` samples: ``1/count``, then 0."""
    count = count.unsqueeze(-1)
    real = torch.arange(width, device=count.device) < count
    return (real.to(like) / count.clamp(min=1)).unsqueeze(-1)
