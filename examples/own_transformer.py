"""Models of one's own: a tiny transformer, and an adapter of low rank (LoRA) on a frozen layer, which stays at home.

The eight rows of a digit are eight tokens. The adapter adds ``B A`` of rank r to a frozen weight ``W0``: the layer
computes ``x W0^T + x A^T B^T``; with ``B = 0`` at the start it computes what the frozen layer does.
By hand: a layer of 32 inputs and 32 outputs has 1024 weights, its adapter of rank 2 has 2 * (32 + 32) = 128.
Run it with ``python examples/own_transformer.py``.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from fedradio import Arg, FlatModel, load_spec, register, run, wrap

WIDTH = 32


class RowTransformer(nn.Module):
    """Rows of an image as tokens, one layer of attention, the mean of its outputs."""

    def __init__(self, rows: int, columns: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Linear(columns, WIDTH)
        self.place = nn.Embedding(rows, WIDTH)
        self.block = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.embed(x.flatten(0, -3)) + self.place.weight
        logits: Tensor = self.head(self.block(tokens).mean(dim=1))
        return logits


class LowRank(nn.Module):
    """A frozen linear layer and its adapter; ``A`` is drawn, ``B`` starts at 0."""

    def __init__(self, frozen: nn.Linear, rank: int) -> None:
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, frozen.in_features))
        self.b = nn.Parameter(torch.empty(frozen.out_features, rank))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The name by which the run's seed draws the start values again."""
        nn.init.normal_(self.a, std=self.a.shape[1] ** -0.5)
        nn.init.zeros_(self.b)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.frozen(x) + x @ self.a.T @ self.b.T
        return logits


def pretrained(inputs: int, outputs: int) -> nn.Linear:
    """A layer that stands for one from a file: fixed values, the same in every process."""
    layer = nn.Linear(inputs, outputs)
    values = torch.linspace(-1.0, 1.0, inputs * outputs).sin() * inputs**-0.5
    with torch.no_grad():
        layer.weight.copy_(values.view(outputs, inputs))
        layer.bias.zero_()
    return layer


@register("model", "row_transformer")
def row_transformer(shape: tuple[int, ...], classes: int, /) -> FlatModel:
    """A transformer of one layer whose tokens are the rows of an image."""
    rows, columns = shape[-2:]
    return wrap(RowTransformer(rows, columns, classes), shape, classes)


@register("model", "adapted")
def adapted(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    rank: Annotated[int, Arg("rank of the adapter", ge=1, le=64)] = 4,
) -> FlatModel:
    """A frozen layer with an adapter of low rank, and a head; only adapter and head train and travel."""
    inputs = shape[-1] * shape[-2]
    layers = nn.Flatten(), LowRank(pretrained(inputs, WIDTH), rank), nn.ReLU(), nn.Linear(WIDTH, classes)
    return wrap(nn.Sequential(*layers), shape, classes)


def main() -> None:
    for model in ("row_transformer", "adapted"):
        made = run(load_spec("digits_flat", [f"model={model}", "data.partition=iid", "rule.lr=0.3", "rounds=40"]))
        assert made.bits is not None
        sent = made.bits / len(made.rounds) / 5 / 32  # numbers of one of the five clients of a round
        print(f"{model:<16} accuracy {made.accuracy:.3f}, {sent:,.0f} numbers a payload")


if __name__ == "__main__":
    main()
