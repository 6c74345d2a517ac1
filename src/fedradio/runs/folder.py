"""The run folder: its files, its lock, and the records that are appended to it.

``spec.yaml`` (complete), ``description.json`` (what its values mean), ``environment.json``, ``network.json`` (parents
and positions), ``records.jsonl`` (one line per record, written after every round), ``checkpoints/``,
``model.safetensors`` and ``summary.json``. JSON and safetensors only; undefined numbers are null. A crash never leaves
half a file, and one process at a time works in a folder. Symbolic links inside a folder are not followed, and nothing
is removed that does not have the exact name of a file of ours. ``damaged/`` keeps files that were set aside.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fedradio._version import __version__
from fedradio.core.commit import source_commit
from fedradio.core.errors import NotEmptyError, StoreError
from fedradio.core.files import LOCK_FILE, locked, replaced_name, replacing, write_bytes
from fedradio.core.text import numbered_names
from fedradio.runs.manifest import CHUNK_BYTES, Checksum, Manifest, checksum

if TYPE_CHECKING:
    from fedradio.core.contracts import Topology

RECORDS_FILE, SUMMARY_FILE, SPEC_FILE = "records.jsonl", "summary.json", "spec.yaml"
ENVIRONMENT_FILE, MODEL_FILE, NETWORK_FILE = "environment.json", "model.safetensors", "network.json"
DESCRIPTION_FILE = "description.json"
CHECKPOINT_FOLDER, DAMAGED_FOLDER = "checkpoints", "damaged"

START_FILES = (SPEC_FILE, DESCRIPTION_FILE, ENVIRONMENT_FILE, NETWORK_FILE)
"""Files that a run writes before its first round."""

LISTED_FILES = (*START_FILES, RECORDS_FILE, MODEL_FILE)
"""Files whose checksums the summary has; checkpoints have their own, and may be removed later."""

OWN_FILES = frozenset({*LISTED_FILES, SUMMARY_FILE, LOCK_FILE})
"""Files that a run writes beside its checkpoints; pages, tables and figures come from other commands."""

CHECKPOINT_NAME = re.compile(r"round-([0-9]{6}|[1-9][0-9]{6,})\.(json|safetensors)")


def checkpoint_round(name: str) -> int | None:
    """After how many rounds the file of a checkpoint was written; None if that is not the exact name of one."""
    found = CHECKPOINT_NAME.fullmatch(name)
    return None if found is None else int(found[1])


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run: at least two of spec, records, summary and checkpoints are there, whole or not."""
    names = (SPEC_FILE, RECORDS_FILE, SUMMARY_FILE, CHECKPOINT_FOLDER)
    return sum(os.path.lexists(folder / name) for name in names) >= 2


def new_folder(name: str, seed: int, root: Path = Path("runs")) -> Path:
    """A folder that does not exist yet: ``runs/NAME-seedN``, with a number appended if that is taken."""
    folders = (root / name for name in numbered_names(f"{name}-seed{seed}"))
    return next(folder for folder in folders if not folder.exists())


class RunFolder:
    """Context manager of the folder of one run, locked against other processes.

    It must be new or empty, or left by a process that was killed before it wrote the spec; with ``resumed`` it must
    hold a run, and nothing of it is touched until its records are opened. The lock is the system's: it is released with
    the process, however that ends.
    """

    def __init__(self, path: Path, *, resumed: bool = False) -> None:
        self.path = path
        self._written: dict[str, Checksum] = {}
        try:
            if not resumed:
                path.mkdir(parents=True, exist_ok=True)
            _refuse(path, resumed)  # before a lock file is put into a folder that is not ours
            with ExitStack() as stack:
                stack.enter_context(locked(path))
                _refuse(path, resumed)  # now that nobody else can be filling it
                _tidy(path)
                self._open = stack.pop_all()
        except OSError as error:
            raise StoreError(f"cannot use {path} as a run folder: {error.strerror or error}") from None
        if not resumed:
            self.open_records()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def open_records(self, size: int = 0) -> None:
        """Open the records, cut to their first ``size`` bytes; the next ones are appended there."""
        path = self.path / RECORDS_FILE
        try:
            self._records = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            self._open.callback(os.close, self._records)
            os.ftruncate(self._records, size)
            os.lseek(self._records, size, os.SEEK_SET)
            self._sha256, self._size = self._digest(size), size
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}") from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the run atomically; the manifest then lists it."""
        write_bytes(self.path / name, data)
        self.note(name, checksum(data))

    def note(self, name: str, written: Checksum) -> None:
        """List a file in the manifest that the run has written."""
        self._written[name] = written

    def manifest(self) -> Manifest:
        """The files that the run has written, with their checksums: as they were written, not as they are by now."""
        return {**self._written, RECORDS_FILE: Checksum(self._size, self._sha256.hexdigest())}

    def remove(self, name: str) -> None:
        """Remove a file of the run, if it is there; the manifest no longer lists it."""
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {self.path / name}: {error.strerror or error}") from None
        self._written.pop(name, None)

    def set_aside(self, name: str) -> Path:
        """Move a damaged file into ``damaged/``, records as a copy, under a name that is free; where it is now."""
        place, number = self.path / DAMAGED_FOLDER, 1
        try:
            place.mkdir(exist_ok=True)
            if place.is_symlink():
                raise StoreError(
                    f"{place} is a symbolic link, which is not followed: damaged files cannot be set aside"
                )
            while os.path.lexists(target := place / f"{Path(name).name}.{number}"):
                number += 1
            if name == RECORDS_FILE and stat.S_ISREG((self.path / name).lstat().st_mode):
                with (self.path / name).open("rb") as damaged, replacing(target) as file:
                    shutil.copyfileobj(damaged, file)
            else:
                os.rename(self.path / name, target)
        except OSError as error:
            raise StoreError(f"cannot set {self.path / name} aside: {error.strerror or error}") from None
        return target

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

    def offset(self) -> Checksum:
        """Flush the records to disk and return the position behind them."""
        try:
            os.fsync(self._records)
        except OSError as error:
            raise StoreError(f"cannot write {self.path / RECORDS_FILE}: {error.strerror or error}") from None
        return Checksum(self._size, self._sha256.hexdigest())

    def _digest(self, size: int) -> hashlib._Hash:
        """Checksum of the first ``size`` bytes of the records."""
        sha256 = hashlib.sha256()
        with (self.path / RECORDS_FILE).open("rb") as file:
            for start in range(0, size, CHUNK_BYTES):
                sha256.update(file.read(min(CHUNK_BYTES, size - start)))
        return sha256

    def disk_bytes(self, checkpoints: bool = True) -> int:
        """Bytes of the run's files on the disk; those of checkpoints only if they will be kept."""
        own = [self.path / name for name in OWN_FILES]
        kept = (self.path / CHECKPOINT_FOLDER).glob("*") if checkpoints else ()
        return sum(file.stat().st_size for file in [*own, *kept] if file.is_file())


def _refuse(path: Path, resumed: bool) -> None:
    """Refuse a folder that is not empty for a new run, or holds no run to resume."""
    if resumed and not is_run(path):
        raise StoreError(f"{path} is not a run folder: it has no {SPEC_FILE} and {RECORDS_FILE}")
    if not resumed and not all(left_at_start(entry) for entry in path.iterdir()):
        raise NotEmptyError(
            f"{path} is not empty; choose another --out, remove it, or continue it with `fedradio resume`"
        )


def left_at_start(entry: Path) -> bool:
    """Whether a process that was killed before it wrote the spec may have left this file."""
    empty_records = entry.name == RECORDS_FILE and entry.lstat().st_size == 0
    ours = entry.name == LOCK_FILE or empty_records or replaced_name(entry) in OWN_FILES
    return ours and stat.S_ISREG(entry.lstat().st_mode)


def _tidy(path: Path) -> None:
    """Remove temporary files that a killed process of the run has left, and nothing else."""
    for half in path.glob(".*.tmp"):
        if replaced_name(half) in OWN_FILES and not half.is_dir():
            half.unlink()
    inside = path / CHECKPOINT_FOLDER
    for half in [] if inside.is_symlink() else inside.glob(".*.tmp"):
        if checkpoint_round(replaced_name(half) or "") is not None and not half.is_dir():
            half.unlink()


def plain_network(topology: Topology) -> dict[str, Any]:
    """The network as plain data: parents on every hop, positions of the nodes of every tier (metres, or normalised)."""
    return {
        "parents": [parent.tolist() for parent in topology.parents],
        "positions": [positions.tolist() for positions in topology.positions],
    }


def plain_environment(device: str, workers: int, files: Mapping[str, str]) -> dict[str, Any]:
    """Versions and hardware that a run uses as plain data, without names of machines or people; and the ``files`` that
    its parts were made from, with their SHA-256."""
    return {
        "fedradio": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("torch", "numpy", "pydantic", "safetensors")},
        "system": platform.system(),
        "machine": platform.machine(),
        "vector_instructions": _vector_instructions(),
        "cpus": os.cpu_count(),
        "device": device,
        "device_name": _device_name(device),
        "workers": workers,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "byteorder": sys.byteorder,
        "files": dict(files),
        "commit": source_commit(),
    }


def _vector_instructions() -> str:
    """Which ones torch computes with on the CPU, such as AVX2: on others, the last bits of results may differ."""
    import torch  # here, so that whoever only reads a folder does not wait for it

    return torch.backends.cpu.get_cpu_capability()


def _device_name(device: str) -> str:
    if device != "cuda":
        return platform.processor() or platform.machine()
    import torch  # here, so that whoever only reads a folder does not wait for it

    return torch.cuda.get_device_name()


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
