"""The run folder: its files, its lock, and the records that are appended to it.

``spec.yaml`` (complete), ``description.json`` (what its values mean), ``environment.json``, ``network.json`` (parents
and positions), ``records.jsonl`` (one line per record, written after every round), ``checkpoints/``,
``model.safetensors`` and ``summary.json``. JSON and safetensors only; undefined numbers are null. A crash never leaves
half a file, and one process at a time works in a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fedradio._version import __version__
from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE, locked, replaced_name

if TYPE_CHECKING:
    from fedradio.core.contracts import Topology

RECORDS_FILE, SUMMARY_FILE, SPEC_FILE = "records.jsonl", "summary.json", "spec.yaml"
ENVIRONMENT_FILE, MODEL_FILE, NETWORK_FILE = "environment.json", "model.safetensors", "network.json"
DESCRIPTION_FILE = "description.json"
CHECKPOINT_FOLDER = "checkpoints"

OWN_FILES = frozenset(
    {RECORDS_FILE, SUMMARY_FILE, SPEC_FILE, ENVIRONMENT_FILE, MODEL_FILE, NETWORK_FILE, DESCRIPTION_FILE, LOCK_FILE}
)
"""Files that a run writes beside its checkpoints; pages, tables and figures come from other commands."""

CHUNK_BYTES = 1 << 20


def new_folder(name: str, seed: int, root: Path = Path("runs")) -> Path:
    """A folder that does not exist yet: ``runs/NAME-seedN``, with a number appended if that is taken."""
    stem = f"{name}-seed{seed}"
    number = 1
    while (folder := root / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


@dataclass(frozen=True)
class Offset:
    """A position in the records of a run: the bytes before it, and their checksum."""

    size: int
    sha256: str


class RunFolder:
    """Context manager of the folder of one run, locked against other processes.

    It must be new or empty; with ``resumed`` it must hold a run. The lock is the system's: it is released with the
    process, however that ends.
    """

    def __init__(self, path: Path, *, resumed: bool = False) -> None:
        self.path = path
        try:
            if not resumed:
                path.mkdir(parents=True, exist_ok=True)
            _refuse(path, resumed)  # before a lock file is put into a folder that is not ours
            with ExitStack() as stack:
                stack.enter_context(locked(path))
                _refuse(path, resumed)  # now that nobody else can be filling it
                _tidy(path)
                self._records = os.open(path / RECORDS_FILE, os.O_RDWR | os.O_CREAT, 0o666)
                stack.callback(os.close, self._records)
                self._open = stack.pop_all()
        except OSError as error:
            raise StoreError(f"cannot use {path} as a run folder: {error.strerror or error}") from None
        self.rewind(os.fstat(self._records).st_size)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Append records, all or none of them; once this returns they survive the death of the process."""
        data = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode()
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._records, left) :]
        except BaseException as error:
            os.ftruncate(self._records, self._size)
            os.lseek(self._records, self._size, os.SEEK_SET)
            if not isinstance(error, OSError):
                raise
            raise StoreError(f"cannot write {self.path / RECORDS_FILE}: {error.strerror or error}") from None
        self._size += len(data)
        self._sha256.update(data)

    def offset(self) -> Offset:
        """Flush the records to disk and return the position behind them."""
        try:
            os.fsync(self._records)
        except OSError as error:
            raise StoreError(f"cannot write {self.path / RECORDS_FILE}: {error.strerror or error}") from None
        return Offset(self._size, self._sha256.hexdigest())

    def holds(self, offset: Offset) -> bool:
        """Whether the records up to that position are unchanged."""
        size = os.fstat(self._records).st_size
        return size >= offset.size and self._digest(offset.size).hexdigest() == offset.sha256

    def rewind(self, size: int) -> None:
        """Truncate the records to ``size`` bytes; the next ones are appended there."""
        os.ftruncate(self._records, size)
        self._sha256, self._size = self._digest(size), size
        os.lseek(self._records, size, os.SEEK_SET)

    def _digest(self, size: int) -> hashlib._Hash:
        """Checksum of the first ``size`` bytes of the records."""
        sha256 = hashlib.sha256()
        with (self.path / RECORDS_FILE).open("rb") as file:
            for start in range(0, size, CHUNK_BYTES):
                sha256.update(file.read(min(CHUNK_BYTES, size - start)))
        return sha256

    def disk_bytes(self) -> int:
        """Bytes of the run's files on the disk."""
        own = [self.path / name for name in OWN_FILES]
        return sum(file.stat().st_size for file in [*own, *(self.path / CHECKPOINT_FOLDER).glob("*")] if file.is_file())


def _refuse(path: Path, resumed: bool) -> None:
    """Refuse a folder that is not empty for a new run, or holds no run to resume."""
    if resumed and not ((path / SPEC_FILE).is_file() and (path / RECORDS_FILE).is_file()):
        raise StoreError(f"{path} is not a run folder: no {SPEC_FILE} with {RECORDS_FILE} beside it")
    if not resumed and any(entry.name != LOCK_FILE for entry in path.iterdir()):
        raise StoreError(f"{path} is not empty; choose another --out, remove it, or `fedradio resume` it")


def _tidy(path: Path) -> None:
    """Remove temporary files that a killed process of the run has left, and nothing else."""
    for half in [*path.glob(".*.tmp"), *(path / CHECKPOINT_FOLDER).glob(".*.tmp")]:
        name = replaced_name(half)
        if name is not None and (name in OWN_FILES or half.parent != path):
            half.unlink()


def plain_network(topology: Topology) -> dict[str, Any]:
    """The network as plain data: parents on every hop, positions of the nodes of every tier (metres, or normalised)."""
    return {
        "parents": [parent.tolist() for parent in topology.parents],
        "positions": [positions.tolist() for positions in topology.positions],
    }


def read_summary(folder: Path | str) -> dict[str, Any]:
    """The summary of a run folder as plain data."""
    folder = Path(folder)
    try:
        summary: dict[str, Any] = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} is not a run folder: no readable {SUMMARY_FILE} ({type(error).__name__})") from None
    if not isinstance(summary, dict) or not {"status", "spec_sha256"} <= summary.keys():
        raise StoreError(f"{folder / SUMMARY_FILE} is not the summary of a run: it has no status or no fingerprint")
    return summary


def plain_environment(device: str, workers: int) -> dict[str, Any]:
    """Versions and hardware that a run uses as plain data, without names of machines or people."""
    return {
        "fedradio": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("torch", "numpy", "pydantic", "scikit-learn", "safetensors")},
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "device": device,
        "device_name": _device_name(device),
        "workers": workers,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "byteorder": sys.byteorder,
    }


def _device_name(device: str) -> str:
    if device != "cuda":
        return platform.processor() or platform.machine()
    import torch  # here, so that whoever only reads a folder does not wait for it

    return torch.cuda.get_device_name()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
