"""Writes and reads named tensors as safetensors files, which hold numbers and nothing that could be executed.

Files are written in one pass with their checksum, without a copy of the tensors in memory; they are read by the
safetensors library, which checks them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from fedradio.core.errors import StoreError
from fedradio.core.files import replacing
from fedradio.core.mapped import LARGE, make_room, release_memory

TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""Types that can be stored, and their names in the format."""

PIECE = 1 << 26
"""Bytes of a large tensor that are read at once."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors to a file, whole or not at all; returns its sha256."""
    sha256 = hashlib.sha256()
    with replacing(path) as file:
        for piece in _pieces(tensors):
            file.write(piece)
            sha256.update(piece)
    return sha256.hexdigest()


def read_tensors(path: Path, large: int = LARGE) -> dict[str, Tensor]:
    """The tensors of a file by name.

    Each has memory of its own, aligned as torch makes it, so that sums round as they always do; those from ``large``
    bytes on are copied piece by piece into files mapped into memory.
    """
    with safe_open(path, framework="pt") as file:
        return {name: _read(file, name, large) for name in file.keys()}  # noqa: SIM118 (it is no mapping)


def _read(file: Any, name: str, large: int) -> Tensor:
    """One tensor of an open file, copied."""
    piece = file.get_slice(name)
    shape = piece.get_shape()
    first: Tensor = piece[:1] if shape else file.get_tensor(name)
    if not shape or first.numel() * first.element_size() * shape[0] < large:
        return file.get_tensor(name).clone()  # type: ignore[no-any-return]
    room = make_room({name: torch.zeros_like(first).expand(shape)}, large)
    rows = max(1, PIECE // (first.numel() * first.element_size()))
    for lo in range(0, shape[0], rows):
        room[name][lo : lo + rows] = piece[lo : lo + rows]
        release_memory(room)
    return room[name]


def _pieces(tensors: Mapping[str, Tensor]) -> Iterator[Any]:
    """The bytes of a safetensors file: header length, header, numbers; wide types first, so that all are aligned."""
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in names:
        tensor = tensors[name]
        if tensor.dtype not in TYPES:
            raise StoreError(f"{name}: tensors of {tensor.dtype} cannot be stored")
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in names:
        yield tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
