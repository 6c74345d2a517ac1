"""A metric of one's own in one file: the Brier score of predicted probabilities.

``mean_i sum_c (p_ic - [c = y_i])^2``: 0 for predictions that are sure and right, 2 for those that are sure and wrong.
By hand: probabilities .8 and .2 with label 0 give .2^2 + .2^2 = .08.
Run it with ``python examples/own_metric.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import one_hot

from fedradio import Metric, load_spec, register, run


@dataclass(frozen=True)
class Brier(Metric):
    """See :func:`brier`."""

    names = ("brier_score",)
    better = "less"

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        p = logits.double().exp()
        return {"brier_score": float((p - one_hot(y, p.shape[1])).square().sum(dim=1).mean())}


@register("metric", "brier", paper="Brier, Monthly Weather Review 78, 1950")
def brier() -> Brier:
    """Brier score: squared distance of the predicted probabilities from the truth, mean over all test samples."""
    return Brier()


def main() -> None:
    for model in ("logistic", "mlp"):
        made = run(load_spec("digits_flat", [f"model={model}", "metrics=[brier, macro_f1]", "rounds=20"]))
        scores = "  ".join(f"{name} {made.last[name]:.3f}" for name in ("accuracy", "macro_f1", "brier_score"))
        print(f"{model:<10} {scores}")


if __name__ == "__main__":
    main()
