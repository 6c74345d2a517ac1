"""Cross entropy, the cost of classification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from fedradio.core.contracts import Batch, LocalRule, Loss, Outputs
from fedradio.core.registry import register


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Cross entropy, see :func:`cross_entropy`; its slope is ``h - onehot(y)``."""

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        return {"w": batch.mean(negative_likelihood(out["w"].logits.log_softmax(-1), batch.y))}

    def slopes(self, out: Mapping[str, Outputs], batch: Batch) -> tuple[Tensor, Mapping[str, Outputs]]:
        log_h, label = out["w"].logits.log_softmax(-1), batch.y.unsqueeze(-1)
        slope = log_h.exp().scatter_add_(-1, label, log_h.new_full((), -1.0).expand(label.shape))
        return batch.mean(negative_likelihood(log_h, batch.y)), {"w": Outputs(slope * batch.weight.unsqueeze(-1))}


def is_plain(rule: LocalRule) -> bool:
    """Whether the rule trains by cross entropy and one gradient an update, for which there are fused kernels."""
    return (rule.loss is None or type(rule.loss) is CrossEntropy) and rule.gradients == 1.0


def negative_likelihood(log_h: Tensor, y: Tensor) -> Tensor:
    """Cross entropy ``-log h_y [k, n]`` of every sample, from log-probabilities ``[k, n, C]``."""
    return -log_h.gather(-1, y.unsqueeze(-1)).squeeze(-1)


@register("loss", "cross_entropy")
def cross_entropy() -> CrossEntropy:
    """Cross entropy ``f = -mean log h_y`` of the labels' probabilities ``h = softmax(z)``, in nats."""
    return CrossEntropy()
