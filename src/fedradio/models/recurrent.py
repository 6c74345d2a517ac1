"""Recurrent networks for sequences of ids."""

from __future__ import annotations

from typing import Annotated

from torch import Tensor, nn

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.models.model import FlatModel
from fedradio.models.start import build

MAX_WIDTH = 4096
MAX_IDS = 1_000_000


@register("model", "lstm", paper="OSAFL, section V")
def lstm(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    ids: Annotated[int | None, Arg("number of distinct ids in the inputs (default: classes)", ge=1, le=MAX_IDS)] = None,
    embedding: Annotated[int, Arg("size of the embedding of an id", ge=1, le=MAX_WIDTH)] = 32,
    width: Annotated[int, Arg("hidden units per layer", ge=1, le=MAX_WIDTH)] = 256,
    layers: Annotated[int, Arg("number of stacked layers", ge=1, le=16)] = 3,
) -> FlatModel:
    """LSTM for sequences of ids ``[n, T]``: an embedding, LSTM layers, logits from the last time step.

    1,378,532 parameters for 100 ids and classes, independent of the length ``T``.
    """
    if len(shape) != 1 or shape[0] < 1:
        reason = "lstm needs sequences of ids, one number per time step"
        raise SpecError(Problem("model", reason, "use a source of sequences, or kind mlp", tuple(shape)))
    return build(lambda: Lstm(ids or classes, embedding, width, layers, classes), shape, classes)


class Lstm(nn.Module):
    """LSTM classifier: ids ``x [n, T]`` of any integer type, ``0 <= x < ids``, to logits ``[n, classes]``."""

    def __init__(self, ids: int, embedding: int, width: int, layers: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(ids, embedding)
        self.lstm = nn.LSTM(embedding, width, num_layers=layers, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        _check_ids(x, self.embedding.num_embeddings)
        hidden, _ = self.lstm(self.embedding(x.long()))  # [n, T, width]
        logits: Tensor = self.head(hidden[:, -1])
        return logits


def _check_ids(x: Tensor, ids: int) -> None:
    if x.is_floating_point():
        raise SpecError(
            Problem("model", "reads ids, but the inputs are not integers", "use a source of ids, or kind mlp")
        )
    lowest, highest = (int(edge) for edge in x.aminmax())
    if not 0 <= lowest <= highest < ids:
        reason = f"accepts the ids 0 to {ids - 1}, but the inputs contain {lowest} to {highest}"
        remedy = f"set ids: {highest + 1} or more" if lowest >= 0 else "number the ids from 0"
        raise SpecError(Problem("model.ids", reason, remedy, ids))
