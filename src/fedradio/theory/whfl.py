"""W-HFL: the exact aggregation error over one or two over-the-air hops, and the paper's bound as printed.

**Ours, exact** (equal weights, float64): :func:`aggregation_error` is ``E|hat - true|^2`` per symbol of I cluster
iterations and one global one, given what was sent. With ``w_c = beta_edge,c / S``, ``S`` their sum,
``U_c = sum_i xbar_{c,i}`` and ``V_c = sum_i [sigma_z^2/(P^2 sigma_h^2) + sum_all beta |x_i|^2] / (S_c K)``::

    |sum w_c U_c - true|^2 + sum w_c^2 V_c + [sigma_z^2/(P_edge^2 sigma_h^2) + sum beta_edge,c (|U_c|^2 + V_c)] / (K' S)

with the mean of the gains as normaliser; with their sum, as printed, the first hop's ``U_c`` is over M and ``V_c`` over
M^2, the second hop's estimate over C.

**The paper's, as printed**: :func:`distance_31` and :func:`loss_33`; and, derived from it and printed nowhere, its
limit of one hop of air, :func:`one_hop_32`. Show it, do not trust it:

1. With M = C = I = 1 the coefficient of A in (40) should be ``(K+1)(K'+1)/(K K')`` and reads ``2 (K'+1)/(K K')``; with
   M = I = 1 and C = 2 Lemma 10 has 2 in place of ``K + 1``.
2. (24), the proof of Lemma 9 and Lemma 13 carry the clients' noise with P_IS,t. It must be P_t, which (32) has in one
   of its two places.
3. Lemma 12 loses the sum over m' between (59) and (60); we read the m' left over in (32) as the m of its statement.
4. With beta-bar as the mean of the gains, under which equal gains give the true mean, A sums to a negative number and
   Lemma 1 bounds a square from above by less than 0. With the printed sum every hop shrinks the update by 1/M or 1/C,
   Lemma 3's zero mean fails, and a quadratic without noise stays above (31). Both are tests.
5. Foreign gains: (8) writes the source first, (24)-(60) the receiver. We take the gain at the receiver that (24) means.
6. Corollary 2, (34) and (35), follows from (32) with the sum of the gains alone. The first line of (34) has K in front
   of the noise for K', and P_IS for its square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Slots
from fedradio.links.air import Air, Floats, Normaliser, error_split


@dataclass(frozen=True)
class Moments:
    """Second moments of the symbols sent in I iterations: ``gram [U, U]`` is ``E Re(y_u^* y_v)`` of their sums over the
    iterations ``y_u``, ``power [U]`` is ``sum_i E|x_u,i|^2``."""

    gram: Tensor
    power: Tensor
    iterations: int


@dataclass(frozen=True)
class AggregationError:
    """``E|hat - true|^2`` per symbol by cause: bias of the gains, the first hop's variance as it reaches the server,
    and the second hop's own (0 for a flat network)."""

    bias: float
    fading: float
    intra: float
    inter: float
    noise: float
    edge_fading: float = 0.0
    edge_intra: float = 0.0
    edge_noise: float = 0.0

    @property
    def variance(self) -> float:
        first = self.fading + self.intra + self.inter + self.noise
        return first + self.edge_fading + self.edge_intra + self.edge_noise

    @property
    def total(self) -> float:
        return self.bias + self.variance


def flat_error(
    gain: Tensor, sent: Moments, amplitude: float, noise: float, antennas: int = 100, normaliser: Normaliser = "mean"
) -> AggregationError:
    """Error of a flat network: all clients ``gain [U]`` straight to the server, which sums I iterations."""
    above = torch.zeros(len(gain), dtype=torch.long)
    air = _air(gain[None], above, amplitude, noise * sent.iterations, antennas, normaliser)
    split = error_split(air, sent.power.numpy())
    bias = _bias(air.slope[0] * air.near[0], sent)
    return AggregationError(bias, **{name: float(part[0]) for name, part in split.items()})


def aggregation_error(
    gain: Tensor,
    parent: Tensor,
    edge_gain: Tensor,
    sent: Moments,
    *,
    amplitude: float,
    edge_amplitude: float,
    noise: float,
    edge_noise: float | None = None,
    antennas: int = 100,
    edge_antennas: int = 100,
    normaliser: Normaliser = "mean",
    edge_normaliser: Normaliser | None = None,
) -> AggregationError:
    """Error of two hops: clients to edges ``gain [C, U]`` I times, edges to the server ``edge_gain [C]`` once.

    ``sigma_h^2 = 1``. The edges' noise and normaliser are the clients' unless given.
    """
    air = _air(gain, parent, amplitude, noise * sent.iterations, antennas, normaliser)
    above = torch.zeros(len(edge_gain), dtype=torch.long)
    heard = noise if edge_noise is None else edge_noise
    edge = _air(edge_gain[None], above, edge_amplitude, heard, edge_antennas, edge_normaliser or normaliser)
    share, w = air.slope[:, None] * air.near, edge.slope[0] * edge.near[0]
    first = error_split(air, sent.power.numpy())  # V_c by cause
    power = ((share @ sent.gram.numpy()) * share).sum(axis=1) + sum(first.values())  # E|U_c|^2 + V_c
    second = error_split(edge, power)
    return AggregationError(
        bias=_bias(w @ share, sent),
        **{name: float(w**2 @ part) for name, part in first.items()},
        **{f"edge_{name}": float(part[0]) for name, part in second.items() if name != "inter"},
    )


def client_shares(gain: Tensor, parent: Tensor, edge_gain: Tensor) -> Tensor:
    """Share of each client in the global mean ``[U]``: ``(beta_edge,c / sum) (beta_m / S_c)``; they sum to 1."""
    own = gain[parent, torch.arange(len(parent))]
    strength = torch.zeros_like(edge_gain).index_add_(0, parent, own)
    return (edge_gain / edge_gain.sum())[parent] * own / strength[parent]


def effective_clients(share: Tensor) -> float:
    """Effective number of clients of these shares, ``(sum v)^2 / sum v^2``."""
    return float(share.sum() ** 2 / share.square().sum())


@dataclass(frozen=True)
class Printed:
    """Parameters of (31)-(33), with the values of Fig. 4. ``gain [C, C M]``: receiver first, clients sorted by cluster;
    ``edge_gain [C]``; the other letters as in the paper (``d = 2N``)."""

    gain: Tensor
    edge_gain: Tensor
    iterations: int = 1
    tau: int = 1
    d: int = 7850
    smoothness: float = 10.0
    mu: float = 1.0
    gradient_sq: float = 1.0
    heterogeneity: float = 1.0
    start_sq: float = 1e3
    noise: float = 10.0
    sigma_h2: float = 1.0
    antennas: int = 100
    edge_antennas: int = 100
    bar: Normaliser = "sum"


def figure_4(rounds: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rates ``eta(t) = 5e-2 - 2e-5 t``, amplitudes ``P_t = 1 + 1e-2 t`` and ``P_IS,t = 10 P_t`` of Fig. 4.

    ``[T]`` each, t from 0.
    """
    t = torch.arange(rounds, dtype=torch.float64)
    return 5e-2 - 2e-5 * t, 1 + 1e-2 * t, 10 * (1 + 1e-2 * t)


def contraction_31(setting: Printed, eta: Tensor) -> Tensor:
    """Contraction factor ``X(t) = 1 - mu eta I (tau - eta (tau - 1))``."""
    return 1 - setting.mu * eta * setting.iterations * (setting.tau - eta * (setting.tau - 1))


def learning_32(s: Printed, eta: Tensor) -> Tensor:
    """Learning terms of Y(t), the last three, which ideal links have as well (Lemma 2)."""
    i, tau, g2 = s.iterations, s.tau, s.gradient_sq
    drift = (1 + s.mu * (1 - eta)) * eta**2 * i * g2 * tau * (tau - 1) * (2 * tau - 1) / 6
    return drift + eta**2 * i * (tau**2 + tau - 1) * g2 + 2 * eta * i * (tau - 1) * s.heterogeneity


def air_32(s: Printed, eta: Tensor, amplitude: Tensor, edge_amplitude: Tensor) -> Slots:
    """Over-the-air terms of Y(t), the first five (Lemma 1), in the printed order."""
    c, m, k, k2, i = len(s.edge_gain), s.gain.shape[1] // len(s.edge_gain), s.antennas, s.edge_antennas, s.iterations
    gain = s.gain.double().view(c, c, m)  # receiver, source, client
    own = torch.einsum("ccm->cm", gain)
    edge = s.edge_gain.double()
    bar_c, bar = (own.sum(dim=1), edge.sum()) if s.bar == "sum" else (own.mean(dim=1), edge.mean())
    q = own / bar_c[:, None] ** 2  # beta_{c,m,c} / bar_c^2
    other_edges = edge.sum() - edge  # sum over c' != c of beta_IS,c', seen from c
    inside = own.sum(dim=1, keepdim=True) - own
    foreign = gain.sum(dim=1) - own  # sum over c' != c of the m-th clients there, [c, m]
    learnt = eta**2 * s.gradient_sq * i * s.tau**2
    front = learnt / (k * k2 * m**2 * c**2 * bar**2)
    u = float((own * (edge / bar_c)[:, None]).sum() / bar)
    coefficient = (4 + 2 * (k2 - 1) + (m - 1) * (k - 1) * (i - 1) * (2 + (k2 - 1) * (c - 1))) / (m * c * k * k2 * i)
    count = (2 + (m - 1) * (c - 2) * (k - 1) * (i - 1)) / (m * (c - 1)) if c > 1 else 0.0
    heard = inside + foreign.sum(dim=1, keepdim=True)
    noise = s.noise * (s.d / 2) / (k2 * c**2 * s.sigma_h2 * bar**2)
    own_edge, foreign_edges = (edge**2 @ q).sum(), (edge * other_edges) @ q.sum(dim=1)
    return {
        "signal": learnt * i / (m**2 * c**2) * ((m * c) ** 2 - 2 * m * c * u + coefficient * u**2),
        "edges": front * count * float((edge * other_edges) @ (own.sum(dim=1) / bar_c) ** 2),
        "clients": front * (k2 + 1) * float((edge**2)[:, None].mul(q * heard).sum()),
        "both": front * float((edge * other_edges)[:, None].mul(q * (inside + foreign)).sum()),
        "noise": noise
        * (
            edge.sum() / edge_amplitude**2
            + i / (k * m**2) * ((k2 + 1) * own_edge / amplitude**2 + foreign_edges / edge_amplitude**2)
        ),
    }


def one_hop_32(s: Printed, eta: Tensor, amplitude: Tensor) -> Slots:
    """Over-the-air terms of Y(t) for clients ``gain [1, U]`` straight to the server: a limit of (32), printed nowhere.

    C = 1, and a second hop without errors: ``K'`` and ``P_IS,t`` go to infinity. With ``M = U``, ``S`` the sum of the
    gains and ``bar`` their normaliser, S or its M-th part::

        signal   eta^2 G^2 I^2 tau^2 / M^2 (M^2 - 2 M S/bar + 2/(M K I) (S/bar)^2)
        clients  eta^2 G^2 I tau^2 / (K M^2 bar^2) sum_m beta_m (S - beta_m)
        noise    sigma_z^2 N I S / (K M^2 sigma_h^2 P_t^2 bar^2)
    """
    beta = s.gain.double()[0]
    m, k, i, total = len(beta), s.antennas, s.iterations, float(beta.sum())
    bar = total if s.bar == "sum" else total / m
    learnt, u = eta**2 * s.gradient_sq * i * s.tau**2, total / bar
    return {
        "signal": learnt * i / m**2 * (m**2 - 2 * m * u + 2 / (m * k * i) * u**2),
        "clients": learnt / (k * m**2 * bar**2) * float((beta * (total - beta)).sum()),
        "noise": s.noise * (s.d / 2) * i * total / (k * m**2 * s.sigma_h2 * bar**2) / amplitude**2,
    }


def distance_31(
    s: Printed, eta: Tensor, amplitude: Tensor | None = None, edge_amplitude: Tensor | None = None
) -> Tensor:
    """Bound (31) as printed on ``E|theta(t) - theta*|^2``, t = 0..T; without amplitudes that of ideal links.

    With the clients' amplitudes alone it is the limit of one hop, see :func:`one_hop_32`.
    """
    y = learning_32(s, eta)
    if amplitude is not None:
        two = None if edge_amplitude is None else air_32(s, eta, amplitude, edge_amplitude)
        terms = two or one_hop_32(s, eta, amplitude)
        y = y + torch.stack(list(terms.values())).sum(dim=0)
    distance = [torch.tensor(s.start_sq, dtype=torch.float64)]
    for x_t, y_t in zip(contraction_31(s, eta), y, strict=True):
        distance.append(x_t * distance[-1] + y_t)
    return torch.stack(distance)


def loss_33(s: Printed, eta: Tensor, amplitude: Tensor | None = None, edge_amplitude: Tensor | None = None) -> Tensor:
    """Bound (33) as printed on the loss above its minimum, ``L/2`` times (31), t = 0..T."""
    return s.smoothness / 2 * distance_31(s, eta, amplitude, edge_amplitude)


def _air(gain: Tensor, parent: Tensor, amplitude: float, noise: float, antennas: int, bar: Normaliser) -> Air:
    ones = np.ones(len(parent))
    return Air(gain.double().numpy(), parent.numpy(), amplitude * ones, ones, noise, antennas, normaliser=bar)


def _bias(share: Floats, sent: Moments) -> float:
    """Squared distance of the share-weighted mean from the plain mean, per symbol."""
    deviation = share - 1 / len(share)
    return float(deviation @ sent.gram.numpy() @ deviation)
