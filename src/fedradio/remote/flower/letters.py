"""Letters between server and devices: a head of plain JSON and a body of named tensors (safetensors).

Nothing in them could be executed. Whatever is not exactly that is refused before it is used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from fedradio.core.contracts import Slots
from fedradio.core.errors import FedradioError, StoreError
from fedradio.core.files import parse_json

FORMAT = 1
"""Number of the letters' format; both sides must have the same."""

MOST_HEAD = 1 << 22
"""Most bytes of a head."""

MOST_WHOLE = 1 << 53
"""Largest whole number in a head: all up to it are exact as floats."""

MOST_NUMBERS = 64
"""Most numbers in a mapping of a head."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
"""Names of numbers in a mapping of a head."""

SPARE = 1 << 16
"""Bytes that a letter may have beyond its numbers: names, the head."""


class LetterError(FedradioError):
    """A letter is not what it should be: damaged, of another shape, or not from a device of ours."""


@dataclass(frozen=True)
class Letter:
    """A letter: its head, and the tensors of its body."""

    head: dict[str, Any]
    body: Slots

    def pack(self) -> bytes:
        head = json.dumps(self.head, allow_nan=False).encode()
        body = save({name: rows.detach().cpu().contiguous() for name, rows in self.body.items()})
        return len(head).to_bytes(4, "big") + head + body

    @classmethod
    def unpack(cls, data: bytes) -> Letter:
        """The letter in these bytes; raises :class:`LetterError` for any others."""
        size = int.from_bytes(data[:4], "big")
        if len(data) < 4 or not 0 < size <= min(MOST_HEAD, len(data) - 4):
            raise LetterError("incomplete message")
        try:
            head = parse_json(data[4 : 4 + size], Path("head"))
            body = load(data[4 + size :])
        except (StoreError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
            raise LetterError(f"not a message: {error}") from None
        return cls(head, {name: rows.clone() for name, rows in body.items()})

    def number(self, name: str) -> float:
        """A finite number of the head."""
        value = self.head.get(name)
        if isinstance(value, int) and abs(value) > MOST_WHOLE:  # may be more than a float can hold
            raise LetterError(f"{name} is too large")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise LetterError(f"{name} is not a finite number")
        return float(value)

    def whole(self, name: str) -> int:
        """A whole number of the head."""
        value = self.head.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise LetterError(f"{name} is not a whole number")
        if abs(value) > MOST_WHOLE:
            raise LetterError(f"{name} is too large")
        return value

    def text(self, name: str) -> str:
        """A text of the head."""
        value = self.head.get(name)
        if not isinstance(value, str):
            raise LetterError(f"{name} is not text")
        return value

    def numbers(self, name: str) -> dict[str, float]:
        """A mapping of the head to finite numbers, by name; empty where it is absent."""
        values = self.head.get(name, {})
        if not isinstance(values, dict) or len(values) > MOST_NUMBERS:
            raise LetterError(f"{name} is not a mapping, or has more than {MOST_NUMBERS} numbers")
        if any(not NAME.fullmatch(key) for key in values):
            raise LetterError(f"{name} has invalid names")
        return {key: Letter(values, {}).number(key) for key in values}

    def expect(self, shapes: Mapping[str, tuple[int, ...]], kind: torch.dtype = torch.float32) -> None:
        """Refuse a body with other names, shapes or types than these, and numbers that are not finite."""
        if set(self.body) != set(shapes):
            raise LetterError(f"contains {_listed(self.body)}, not {_listed(shapes)}")
        for name, shape in shapes.items():
            rows = self.body[name]
            if tuple(rows.shape) != shape or rows.dtype != kind:
                raise LetterError(f"{name} is {rows.dtype} of shape {tuple(rows.shape)}, not {kind} of {shape}")
            if not _finite(rows):
                raise LetterError(f"{name} contains NaN or infinity")


def most_bytes(*shapes: tuple[int, ...]) -> int:
    """Most bytes of a letter with float32 tensors of these shapes."""
    return 4 * sum(math.prod(shape) for shape in shapes) + SPARE


def _finite(rows: Tensor) -> bool:
    return bool(torch.isfinite(rows).all())


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(sorted(names)[:8])[:200] or "nothing"
