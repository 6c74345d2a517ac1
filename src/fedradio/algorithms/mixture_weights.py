"""Mixture weight of a client's own model, fitted to validation labels by expectation maximisation.

With ``q_n`` and ``h_n`` the probabilities that the own and the shared model give to the label of validation sample n,
the share of the own model in the mixture's is ``r_n = b q_n / (b q_n + (1-b) h_n)``, and the next weight its mean.
One more sample counts as if the share there were the weight ``b_0`` of training, so that b never is 0 or 1, where it
would stay, and few labels move it little. Training keeps ``b_0``: with a small b an own model would learn no more. It
is done anew for every prediction: a weight that suits one shared model does not suit that of ten rounds later.

By hand: ``b_0 = 1/2``, one sample with ``q = .9, h = .3``: ``r = .75``, then ``b = (.5 + .75)/2 = .625``; the
fixed point of ``2b = 1/2 + 3b/(2b+1)`` is ``b = (1 + sqrt(3))/4 = .6830``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Ensemble, Model, TestSet
from fedradio.engine.threads import parallel_map

ITERATIONS = 200
"""Most iterations; the likelihood is concave in b, and a step that changes nothing ends the search earlier."""


def learned_weights(model: Model, ensemble: Ensemble, validation: TestSet, workers: int) -> Tensor:
    """Fitted weights ``[C]`` of the first of two members, ``[C, d]`` and ``[1, d]``, starting at the ensemble's.

    Without validation samples a client's weight stays what it is.
    """
    own, common = ensemble.members
    start: list[float] = torch.as_tensor(ensemble.weight[0], dtype=torch.float64).expand(len(own)).tolist()
    bounds = validation.bounds()

    def learned(client: int) -> float:
        lo, hi = bounds[client]
        if lo == hi:
            return start[client]
        x, y = validation.fetch(validation.index[lo:hi])
        log_q, log_h = (_log_likelihood(model, row, x, y) for row in (own[client], common[0]))
        return maximise(log_q, log_h, start[client])

    return torch.tensor(parallel_map(learned, range(len(own)), workers), dtype=torch.float64)


def maximise(log_q: Tensor, log_h: Tensor, prior: float) -> float:
    """Fixed point ``b = (b_0 + sum_n r_n) / (1 + n)`` of EM, from log-probabilities ``[n]`` of the labels."""
    log_ratio, b = (log_q - log_h).double(), torch.tensor(prior, dtype=torch.float64)
    for _ in range(ITERATIONS):
        share = torch.sigmoid(torch.logit(b) + log_ratio)
        before, b = b, (prior + share.sum()) / (1 + len(log_ratio))
        if abs(float(b - before)) < 1e-9:
            break
    return float(b)


def _log_likelihood(model: Model, row: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return model.apply(row, x).log_softmax(dim=1).gather(1, y[:, None]).squeeze(1).cpu()
