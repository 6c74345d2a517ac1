"""Writes and reads named tensors as safetensors files, which hold numbers and nothing that could be executed.

Files are written in one pass with their checksum, without a copy of the tensors in memory. Where whole blocks are zero
the file has a hole, which reads as zeros and takes no disk space. Files are read by the safetensors library, which
checks them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor

from fedradio.core.errors import StoreError
from fedradio.core.files import replacing
from fedradio.core.mapped import LARGE, SPARSE, make_room, on_file, release_memory, write_rows, written_rows
from fedradio.runs.manifest import Checksum

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

Bytes = NDArray[np.uint8]

PIECE = 1 << 26
"""Bytes of a large tensor that are read at once."""

BLOCK = 1 << 12
"""Bytes that become a hole of the file where all are zero: a block of most file systems."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> Checksum:
    """Write tensors to a file, whole or not at all; returns its checksum."""
    sha256, size = hashlib.sha256(), 0
    with replacing(path) as file:
        for piece in _pieces(tensors):
            _write(file, piece)
            sha256.update(piece.data)
            size += len(piece)
        file.truncate()  # up to here, where the last bytes are a hole
    return Checksum(size, sha256.hexdigest())


def _write(file: BinaryIO, piece: Bytes) -> None:
    """Write bytes, or go past them where whole blocks are zero."""
    whole = len(piece) // BLOCK * BLOCK
    some = np.append(piece[:whole].reshape(-1, BLOCK).max(axis=1) > 0, piece[whole:].any())  # by block
    changes = np.flatnonzero(some[1:] != some[:-1]) + 1
    for first, end in pairwise([0, *changes.tolist(), len(some)]):
        part = piece[first * BLOCK : end * BLOCK]
        if some[first]:
            file.write(part.data)
        else:
            file.seek(len(part), os.SEEK_CUR)


def read_tensors(path: Path, large: int = LARGE) -> dict[str, Tensor]:
    """The tensors of a file by name.

    Each has memory of its own, aligned as torch makes it or better, so that sums round as they always do; those from
    ``large`` bytes on are in files mapped into memory. Rows of zeros of large tensors take neither memory nor space.
    """
    with safe_open(path, framework="pt") as file:
        return {name: _read(file, name, large) for name in file.keys()}  # noqa: SIM118 (it is no mapping)


def _read(file: Any, name: str, large: int) -> Tensor:
    """One tensor of an open file, copied."""
    piece = file.get_slice(name)
    shape = piece.get_shape()
    row = piece[:1] if len(shape) > 1 else torch.empty(0)  # a vector has no rows
    width = row.numel() * row.element_size()
    if not shape or width * shape[0] < min(large, SPARSE):
        return file.get_tensor(name).clone()  # type: ignore[no-any-return]
    room, few = make_room({name: torch.zeros_like(row).expand(shape)}, large), max(1, PIECE // width)
    for lo in range(0, shape[0], few):
        rows = piece[lo : lo + few]
        some = rows.reshape(len(rows), -1).view(torch.uint8).any(dim=1).bool()  # by bits: -0.0 is not nothing
        write_rows(room[name], lo + some.nonzero().squeeze(1), rows[some])
        release_memory(room)
    return room[name]


def _pieces(tensors: Mapping[str, Tensor]) -> Iterator[Bytes]:
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
    yield np.frombuffer(len(text).to_bytes(8, "little") + text, dtype=np.uint8)
    for name in names:
        yield from _numbers(tensors[name])


def _numbers(tensor: Tensor) -> Iterator[Bytes]:
    """The bytes of a tensor; of a slot in a file in pieces that leave memory again, with zeros for its holes."""
    flat: Bytes = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    if not on_file(tensor):
        yield flat
        return
    width, written = len(flat) // len(tensor), written_rows(tensor).numpy()
    few = max(1, PIECE // width)
    zeros = np.zeros(few * width, dtype=np.uint8)
    changes = np.flatnonzero(written[1:] != written[:-1]) + 1
    starts = np.union1d(changes, np.arange(0, len(written), few)).tolist()
    for first, end in pairwise([*starts, len(written)]):
        yield flat[first * width : end * width] if written[first] else zeros[: (end - first) * width]
        release_memory({"rows": tensor})
