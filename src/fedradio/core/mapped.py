"""Per-client state of which a round touches a few rows: rows that nobody has written take no memory.

2000 clients with a model of their own and a control variate of 200,000 numbers each keep 3.2 GB; 100,000 clients with a
variate of 5000 numbers keep 2 GB, and most of them may never take part. Slots from ``LARGE`` bytes on live in files
mapped into memory. A file has no name any more once it is mapped, so that nothing is left of it when the process ends,
however it ends; it lies in the folder for temporary files (``TMPDIR``). Slots that begin with zeros are files with
holes: a row takes disk space from when it is first written. Slots that begin with other numbers, such as own models,
are written at once: every evaluation reads all of their rows.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Slots
from fedradio.core.errors import StoreError
from fedradio.core.units import show

LARGE = 1_000_000_000
"""Size in bytes from which on a slot is kept in a file."""

ALIGNMENT = 64
"""Bytes to which torch aligns tensors."""

SPARSE = 1 << 24
"""Size in bytes from which on rows of zeros in memory take none until they are written."""

PIECE = 1 << 22
"""Bytes of a slot in a file that are summed at once."""

_FILES: dict[int, int] = {}
"""Descriptor of the open file of every slot with holes, by the address of its rows; it is closed with the slot."""


def make_room(slots: Slots, large: int = LARGE) -> Slots:
    """The same slots with storage of its own for every row, so that rows can be written one by one.

    Algorithms may initialise a slot with one row for all clients (``row.expand(clients, -1)``, of a row that nothing
    else refers to), which takes no memory until here.
    """
    return {name: _room(name, rows, large) for name, rows in slots.items()}


def zero_rows(clients: int, row: Tensor) -> Tensor:
    """Zeros ``[clients, *row.shape]`` of the type and on the device of ``row``; on the CPU, large ones take no memory
    until they are written, as numpy's zeros do.

    Note: numpy aligns memory to 16 bytes and torch to 64. Last bits of matrix products can depend on it.
    """
    if row.device.type != "cpu":
        return row.new_zeros(clients, *row.shape)
    size = clients * row.numel() * row.element_size()
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return torch.from_numpy(memory[first : first + size]).view(row.dtype).view(clients, *row.shape)


def write_rows(rows: Tensor, ids: Tensor, values: Tensor) -> None:
    """Write ``values [A, ...]`` into the rows ``ids [A]`` of a slot, in place.

    Disk space of rows in a file with holes is reserved first: to run out of it while writing to mapped memory would be
    fatal, here it is a :class:`StoreError`.
    """
    file = _FILES.get(rows.data_ptr())
    if file is not None:
        width = _row_bytes(rows)
        with _told(f"{len(ids)} rows", width * len(ids)):
            for i in ids.tolist():
                os.posix_fallocate(file, i * width, width)
    rows.index_copy_(0, ids, values)


def weighted_sum(weight: Tensor, rows: Tensor) -> Tensor:
    """``sum_i weight_i rows_i``, ``[C], [C, d] -> [d]``; of a slot in a file piece by piece, holes are not read."""
    if not on_file(rows):
        return weight @ rows
    total, few = torch.zeros_like(rows[0]), max(1, PIECE // _row_bytes(rows))
    written = written_rows(rows)
    for first in range(0, len(rows), few):
        share, ids = weight[first : first + few], written[first : first + few].nonzero().squeeze(1)
        if len(ids):
            total += share @ rows.new_zeros(len(share), len(total)).index_copy_(0, ids, rows[first + ids])
            release_memory({"rows": rows})
    return total


def written_rows(rows: Tensor) -> Tensor:
    """Rows of a slot that may differ from zero, ``[C]``: all, but of a file with holes those that it has data of."""
    written = torch.zeros(len(rows), dtype=torch.bool)
    for first, end in _written(rows):
        written[first:end] = True
    return written


def _written(rows: Tensor) -> Iterator[tuple[int, int]]:
    """Ranges of rows that the file of a slot has data of, as the file system says; they may overlap."""
    file = _FILES.get(rows.data_ptr())
    if file is None or not hasattr(os, "SEEK_DATA"):
        yield 0, len(rows)
        return
    width, at = _row_bytes(rows), 0
    while at < len(rows) * width:
        try:
            data = os.lseek(file, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole follows
            return
        at = os.lseek(file, data, os.SEEK_HOLE)
        yield data // width, -(-at // width)


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
    return zero_rows(len(rows), rows[0]) if size >= SPARSE and _all_zero(rows) else rows.contiguous()


def _all_zero(rows: Tensor) -> bool:
    """Whether a slot is one row of zeros for all clients."""
    return rows.stride(0) == 0 and not bool(rows[0].count_nonzero())


def _mapped(name: str, rows: Tensor, size: int) -> Tensor:
    """A copy of ``rows [C, ...]`` in a mapped file: of zeros a file that is one hole, else all of it written now."""
    with _told(f"the clients' {name!r}", size), tempfile.NamedTemporaryFile(prefix="fedradio-") as file:
        empty = _all_zero(rows)
        if empty:
            os.ftruncate(file.fileno(), size)
        else:
            os.posix_fallocate(file.fileno(), 0, size)
            for row in rows:  # written, not mapped: nothing stays in memory
                file.write(row.contiguous().view(-1).view(torch.uint8).numpy())
            file.flush()
        room = torch.from_file(file.name, shared=True, size=rows.numel(), dtype=rows.dtype).view(rows.shape)
        if empty:
            _FILES[room.data_ptr()] = os.dup(file.fileno())
            weakref.finalize(room, _close, room.data_ptr())
    return room


def _close(address: int) -> None:
    """Close the file of the slot that was at this address."""
    os.close(_FILES.pop(address))


@contextmanager
def _told(what: str, size: int) -> Iterator[None]:
    """Turn a lack of disk space into a :class:`StoreError` that says for what."""
    try:
        yield
    except OSError as error:
        folder = tempfile.gettempdir()
        reason = f"no room for {show(size, 'B')} of {what} in {folder}: {error.strerror or error}"
        raise StoreError(f"{reason}; set TMPDIR to a folder with more space") from None


def _row_bytes(rows: Tensor) -> int:
    return rows[0].numel() * rows.element_size()
