"""Named tensors in files of the safetensors format, which holds numbers and nothing that could be executed.

Files are written here, in one pass with their checksum and without a copy of the tensors in memory; they are read by
the safetensors library, which checks them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from fedradio.core.errors import StoreError
from fedradio.experiment.store import replacing

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


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write a whole file or nothing; returns its sha256."""
    sha256 = hashlib.sha256()
    with replacing(path) as file:
        for piece in _pieces(tensors):
            file.write(piece)
            sha256.update(piece)
    return sha256.hexdigest()


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file in memory of their own, aligned as torch makes them: sums then round as they always do."""
    return {name: tensor.clone() for name, tensor in load_file(path).items()}


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pieces(tensors: Mapping[str, Tensor]) -> Iterator[Any]:
    """Length of the header, header, then the numbers; wide types first, so that all of them lie aligned."""
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
