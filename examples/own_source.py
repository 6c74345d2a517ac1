"""A source and a model of one's own in one file: points in rings, and a network of two layers.

Class c lies on a ring of radius ``c + 1`` with some noise. The source gives samples; who gets which of them is the
partition's business.
Run it with ``python examples/own_source.py``.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from fedradio import Arg, FlatModel, Rng, Samples, load_spec, register, run, wrap


def points(samples: int, classes: int, noise: float, rng: Rng) -> tuple[Tensor, Tensor]:
    """Places ``x [n, 2]`` and rings ``y [n]``."""
    draws = rng.numpy()
    y = draws.integers(classes, size=samples)
    angle, radius = draws.random(samples) * 2 * np.pi, y + 1 + noise * draws.standard_normal(samples)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1) / classes
    return torch.from_numpy(x).float(), torch.from_numpy(y)


@register("source", "rings")
def rings(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int, Arg("training samples", ge=10, le=1_000_000)] = 2000,
    classes: Annotated[int, Arg("rings", ge=2, le=100)] = 3,
    noise: Annotated[float, Arg("standard deviation of the radius", ge=0, le=10)] = 0.2,
) -> Samples:
    """Points on rings around the origin; the label is the number of the ring."""
    train, test = (points(n, classes, noise, rng.child(name)) for name, n in (("train", samples), ("test", 1000)))
    return Samples(*train, *test, classes=classes, sample_bits=64.0)


@register("model", "two_layers")
def two_layers(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    hidden: Annotated[int, Arg("units of the hidden layer", ge=1, le=10_000)] = 32,
) -> FlatModel:
    """A network of one hidden layer with tanh units, from any ``nn.Module``."""
    layers = nn.Flatten(), nn.Linear(int(np.prod(shape)), hidden), nn.Tanh(), nn.Linear(hidden, classes)
    return wrap(nn.Sequential(*layers), shape, classes)


def main() -> None:
    for partition in ("iid", "{kind: dirichlet, alpha: 0.5}"):
        changes = ["data.source=rings", f"data.partition={partition}", "model=two_layers", "rule.lr=0.5", "rounds=30"]
        summary = run(load_spec("digits_flat", changes))
        print(f"{partition:<32} accuracy {summary.accuracy:.3f}")


if __name__ == "__main__":
    main()
