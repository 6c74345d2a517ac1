"""The limit of a round: its products, convolutions and recurrent layers at their true shapes, by the best library.

``python benchmarks/table.py`` shows it beside every round. A round is run with one worker while every such call is
noted with its operands. Then each distinct call (operation, shapes, strides) is timed with one thread; libraries take
turns: torch's own (MKL for products, oneDNN for the rest), oneDNN's product ``mkldnn._linear_pointwise`` if this torch
has it, and numpy's (OpenBLAS). The limit is the sum over the distinct calls of their number times the CPU seconds of
the fastest library. Everything else that a round does is on top.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from whole import in_turns

FACTORS = {
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    "aten::addmm": (1, 2),
    "aten::baddbmm": (1, 2),
    "aten::linear": (0, 1),
}
"""Products, and which of their arguments are the factors; other libraries leave out the addition beside a product."""

LAYERS = (
    "aten::convolution",
    "aten::convolution_backward",
    "aten::mkldnn_rnn_layer",
    "aten::mkldnn_rnn_layer_backward",
)

TORCH = "MKL" if torch.backends.mkl.is_available() else "torch's BLAS"  # type: ignore[no-untyped-call]
"""Library of torch's own products."""

LEAST_FLOPS = 2e8
"""A product is repeated in a turn until it has done so many multiplications and additions, so that its factors are in
the cache, as those of a client are from step to step; otherwise the limit would be above our time."""


@dataclass
class Call:
    """A distinct call with operands of its own, and how often a round makes it."""

    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    count: int = 0

    @property
    def name(self) -> str:
        """The operation, whatever it does with its result: ``aten::mm``."""
        return str(self.function._schema.name).rstrip("_")

    def __call__(self) -> None:
        self.function(*self.arguments, **self.keywords)


class Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch does not type it
    """Notes the calls that are made inside of it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.noted: dict[tuple[Any, ...], Call] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        name = str(func._schema.name).rstrip("_")
        if name in FACTORS or name in LAYERS:
            key = func, _shape(args), _shape(tuple(sorted(keywords.items())))
            if key not in self.noted:
                self.noted[key] = Call(func, _copied(args), {key: _copied(value) for key, value in keywords.items()})
            self.noted[key].count += 1
        return func(*args, **keywords)


@dataclass(frozen=True)
class Limit:
    """CPU seconds of the calls of a round by the best library of each, the library with most of them, and how many
    distinct calls there are."""

    seconds: float
    library: str
    calls: int


def noted_calls(turn: Callable[[], object]) -> list[Call]:
    """The distinct calls of a round."""
    with Calls() as calls:
        turn()
    return list(calls.noted.values())


def limit(calls: Sequence[Call], repeat: int) -> Limit:
    """The limit of these calls; medians over so many turns."""
    spent: Counter[str] = Counter()
    for call in calls:
        library, seconds = fastest(contenders(call), repetitions(call), repeat)
        spent[library] += call.count * seconds  # type: ignore[assignment]  # counters add up any numbers
    library = spent.most_common(1)[0][0] if spent else ""
    return Limit(float(sum(spent.values())), library, len(calls))


def fastest(by_library: Mapping[str, Callable[[], object]], times: int, repeat: int) -> tuple[str, float]:
    """The library that needs least CPU time for a call, and its seconds."""

    def repeated(function: Callable[[], object]) -> Callable[[], None]:
        def turn() -> None:
            for _ in range(times):
                function()

        return turn

    seconds = in_turns({library: repeated(function) for library, function in by_library.items()}, repeat)
    library = min(seconds, key=lambda name: seconds[name])
    return library, seconds[library] / times


def contenders(call: Call) -> dict[str, Callable[[], object]]:
    """The libraries that can make a call."""
    if call.name not in FACTORS:
        return {"oneDNN": call}
    left, right = (call.arguments[place] for place in FACTORS[call.name])
    right = right.t() if call.name == "aten::linear" else right
    a, b = left.numpy(), right.numpy()
    out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
    found: dict[str, Callable[[], object]] = {TORCH: call}
    found["OpenBLAS"] = lambda: np.matmul(a, b, out=out)
    product = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if hasattr(torch.ops, "mkldnn") else None
    if product is not None and left.dim() == 2:
        weight = right.t().contiguous()  # as a library would keep it

        def one_dnn() -> object:
            return product(left, weight, None, "none", [], "")

        with suppress(RuntimeError, NotImplementedError):  # it takes neither every type nor every shape
            one_dnn()
            found["oneDNN"] = one_dnn
    return found


def repetitions(call: Call) -> int:
    """How often a call is made in a turn, so that a clock can see it."""
    if call.name not in FACTORS:
        return 1
    left, right = (call.arguments[place] for place in FACTORS[call.name])
    flops = 2 * left.numel() * (right.shape[0] if call.name == "aten::linear" else right.shape[-1])
    return max(1, round(LEAST_FLOPS / max(1.0, float(flops))))


def _shape(value: Any) -> Any:
    """What tells calls apart: shapes, strides and types of tensors, and other values."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.stride(), value.dtype
    if isinstance(value, (list, tuple)):
        return tuple(map(_shape, value))
    return value


def _copied(value: Any) -> Any:
    """Operands that nobody else changes, with the same strides: rows within a larger matrix, and repeated ones, too."""
    if isinstance(value, Tensor) and value.numel():
        size = 1 + sum((n - 1) * stride for n, stride in zip(value.shape, value.stride(), strict=True))
        span = value.detach().as_strided((size,), (1,), value.storage_offset()).clone()
        return span.as_strided(value.shape, value.stride())
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return value
