"""Per-client state in files that are mapped into memory, for slots too large to stay in RAM.

2000 clients with a model of their own and a control variate of 200,000 numbers each keep 3.2 GB, of which a round
touches the rows of a few. The file has no name any more once it is mapped, so that nothing is left of it when the
process ends, however it ends; it lies in the folder for temporary files (``TMPDIR``).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile

import torch
from torch import Tensor

from fedradio.core.contracts import Slots
from fedradio.core.errors import StoreError
from fedradio.core.units import show

LARGE = 1_000_000_000
"""Size in bytes from which on a slot is kept in a file."""


def make_room(slots: Slots, large: int = LARGE) -> Slots:
    """The same slots with storage of its own for every row, so that rows can be written one by one.

    Algorithms may initialise a slot with one row for all clients (``row.expand(clients, -1)``, of a row that nothing
    else refers to), which takes no memory until here.
    """
    return {name: _room(name, rows, large) for name, rows in slots.items()}


def release_memory(slots: Slots) -> None:
    """Release the RAM of mapped slots; their rows are read from the file again when they are needed."""
    for rows in slots.values():
        if on_file(rows):
            size = rows.numel() * rows.element_size()
            ctypes.CDLL(None).madvise(ctypes.c_void_p(rows.data_ptr()), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


def on_file(rows: Tensor) -> bool:
    """Whether a slot is mapped from a file."""
    return rows.device.type == "cpu" and rows.untyped_storage().filename is not None


def _room(name: str, rows: Tensor, large: int) -> Tensor:
    size = rows.numel() * rows.element_size()
    if size >= large and rows.device.type == "cpu" and hasattr(os, "posix_fallocate"):
        return rows if on_file(rows) else _mapped(name, rows, size)
    return rows.contiguous()


def _mapped(name: str, rows: Tensor, size: int) -> Tensor:
    """A copy of ``rows [C, ...]`` in a mapped file; its disk space is reserved now: running out later is fatal."""
    try:
        with tempfile.NamedTemporaryFile(prefix="fedradio-") as file:
            os.posix_fallocate(file.fileno(), 0, size)  # reads as zeros
            if bool(rows[0].count_nonzero()) or rows.stride(0) != 0:
                for row in rows:  # written, not mapped: nothing stays in memory
                    file.write(row.contiguous().view(-1).view(torch.uint8).numpy())
                file.flush()
            room = torch.from_file(file.name, shared=True, size=rows.numel(), dtype=rows.dtype)
    except OSError as error:
        folder = tempfile.gettempdir()
        reason = f"no room for {show(size, 'B')} of the clients' {name!r} in {folder}: {error.strerror or error}"
        raise StoreError(f"{reason}; set TMPDIR to a folder with more space") from None
    return room.view(rows.shape)
