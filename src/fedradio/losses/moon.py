"""MOON: model-contrastive learning, which keeps a client's features near those of the received model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from torch import Tensor
from torch.nn.functional import cosine_similarity, softplus

from fedradio.core.contracts import PREVIOUS, RECEIVED, Batch, Loss, Outputs
from fedradio.core.registry import Arg, register
from fedradio.losses.cross_entropy import negative_likelihood


@dataclass(frozen=True)
class Moon(Loss):
    """Cross entropy and the model-contrastive term, see :func:`moon`.

    With the cosine similarities ``s_r`` and ``s_p`` of a sample's features to those of the received and of the client's
    previous model the term is ``log(1 + exp((s_p - s_r)/tau))``, which is (4) of the paper.
    """

    temperature: float = 0.5
    mu: float = 1.0
    anchors = (RECEIVED, PREVIOUS)
    reads_features = True

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        z, features = out["w"]
        near, far = (_similarity(features, out[name].features) for name in self.anchors)
        term = softplus((far - near) / self.temperature)
        return {"w": batch.mean(negative_likelihood(z.log_softmax(-1), batch.y) + self.mu * term)}


def _similarity(one: Tensor | None, other: Tensor | None) -> Tensor:
    """Cosine similarities ``[k, b]`` of features ``[k, b, m]``."""
    assert one is not None
    assert other is not None
    return cosine_similarity(one, other, dim=-1)


@register("loss", "moon", paper="Li, He, Song, CVPR 2021, eqs. (4), (5)")
def moon(
    *,
    temperature: Annotated[float, Arg("temperature tau of the contrast", gt=0, le=1e4)] = 0.5,
    mu: Annotated[float, Arg("weight of the model-contrastive term; 0 is cross entropy", ge=0, le=1e4)] = 1.0,
) -> Moon:
    """MOON: cross entropy plus a contrast that draws features to the received model's, away from the client's last.

    ``f = CE + mu mean -log(e^(s_r/tau) / (e^(s_r/tau) + e^(s_p/tau)))`` with the cosine similarities ``s_r``, ``s_p``
    of a sample's features to those under the received model and under the client's model after its last training (the
    initial model before the first). Features are the inputs of the last linear layer. A sample costs two forward passes
    more.
    """
    return Moon(temperature, mu)
