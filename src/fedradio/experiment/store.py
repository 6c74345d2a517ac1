"""Run folders, written so that a crash never leaves a half file, and held by one process at a time.

``spec.yaml`` (complete), ``environment.json``, ``network.json`` (who stands where), ``records.jsonl`` (one line a
record, written after every round), ``checkpoints/``, ``model.safetensors`` and ``summary.json``. JSON
and safetensors only; undefined numbers are null.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import torch

from fedradio._version import __version__
from fedradio.core.contracts import ExchangeRecord, RoundRecord, Topology
from fedradio.core.errors import StoreError

RECORDS, SUMMARY, SPEC, ENVIRONMENT = "records.jsonl", "summary.json", "spec.yaml", "environment.json"
MODEL, NETWORK, LOCK = "model.safetensors", "network.json", ".lock"
CHECKPOINTS = "checkpoints"

OWN = frozenset({RECORDS, SUMMARY, SPEC, ENVIRONMENT, MODEL, NETWORK, LOCK})
"""What a run writes beside its checkpoints; pages, tables and figures of it are others'."""

CHUNK = 1 << 20


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a whole file or nothing: a temporary neighbour, flushed to disk, then renamed, the folder flushed too."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _flush_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _flush_folder(folder: Path) -> None:
    """Make the renames in a folder last; file systems that do not know how to answer EINVAL."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def new_folder(name: str, seed: int, root: Path = Path("runs")) -> Path:
    """``runs/NAME-seedN``, with a number behind it where that is taken."""
    stem = f"{name}-seed{seed}"
    number = 1
    while (folder := root / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


@dataclass(frozen=True)
class Mark:
    """How far the records went at some moment: bytes, and the checksum of all of them."""

    size: int
    sha256: str


class RunFolder:
    """A folder that receives one run, locked against other processes; use it as a context manager.

    It must be new or empty; with ``again`` it is that of a run which is to go on. The lock is the system's: it goes
    with the process, however that ends.
    """

    def __init__(self, path: Path, *, again: bool = False) -> None:
        self.path = path
        try:
            if not again:
                path.mkdir(parents=True, exist_ok=True)
            _refuse(path, again)  # before a lock file is put into a folder that is not ours
            with ExitStack() as stack:
                stack.callback(os.close, _locked(path))
                _refuse(path, again)  # now that nobody else can be filling it
                _tidy(path)
                self._records = os.open(path / RECORDS, os.O_RDWR | os.O_CREAT, 0o666)
                stack.callback(os.close, self._records)
                self._held = stack.pop_all()
        except OSError as error:
            raise StoreError(f"cannot use {path} as a run folder: {error.strerror or error}") from None
        self.rewind(os.fstat(self._records).st_size)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._held.close()

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Add records, all or none of them; when this returns they outlive the process."""
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
            raise StoreError(f"cannot write {self.path / RECORDS}: {error.strerror or error}") from None
        self._size += len(data)
        self._sha256.update(data)

    def mark(self) -> Mark:
        """Flush the records to disk and tell how far they go."""
        try:
            os.fsync(self._records)
        except OSError as error:
            raise StoreError(f"cannot write {self.path / RECORDS}: {error.strerror or error}") from None
        return Mark(self._size, self._sha256.hexdigest())

    def holds(self, mark: Mark) -> bool:
        """Whether the records up to the mark are there as they were."""
        return os.fstat(self._records).st_size >= mark.size and self._digest(mark.size).hexdigest() == mark.sha256

    def rewind(self, size: int) -> None:
        """Cut the records there and go on behind."""
        os.ftruncate(self._records, size)
        self._sha256, self._size = self._digest(size), size
        os.lseek(self._records, size, os.SEEK_SET)

    def _digest(self, size: int) -> hashlib._Hash:
        """Of the first ``size`` bytes of the records."""
        found = hashlib.sha256()
        for at in range(0, size, CHUNK):
            found.update(os.pread(self._records, min(CHUNK, size - at), at))
        return found

    def disk_bytes(self) -> int:
        """What the run takes on the disk."""
        own = [self.path / name for name in OWN]
        return sum(file.stat().st_size for file in [*own, *(self.path / CHECKPOINTS).glob("*")] if file.is_file())


def _refuse(path: Path, again: bool) -> None:
    """A new run takes an empty folder, a run that goes on one with its spec."""
    if again and not ((path / SPEC).is_file() and (path / RECORDS).is_file()):
        raise StoreError(f"{path} is not a run folder: no {SPEC} with {RECORDS} beside it")
    if not again and any(entry.name != LOCK for entry in path.iterdir()):
        raise StoreError(f"{path} is not empty; choose another --out, remove it, or `fedradio resume` it")


def _tidy(path: Path) -> None:
    """Remove half files that a killed process of the run has left, and nothing else."""
    for left in [*path.glob(".*.tmp"), *(path / CHECKPOINTS).glob(".*.tmp")]:
        name, _, number = left.name.removeprefix(".").removesuffix(".tmp").rpartition(".")
        if number.isdecimal() and (name in OWN or left.parent != path):
            left.unlink()


def _locked(path: Path) -> int:
    """The handle of the folder's lock file, held by this process alone."""
    handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise StoreError(f"{path} is in use: another process is running in it") from None
        raise StoreError(f"{path} cannot be locked ({error.strerror}); choose another file system") from None
    return handle


@contextmanager
def held(folder: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Keep other processes out of a folder, after waiting for the one that may be in it."""
    until = time.monotonic() + patience_s
    while True:
        try:
            handle = _locked(folder)
            break
        except StoreError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.1)
    try:
        yield
    finally:
        os.close(handle)


def exchange_row(record: ExchangeRecord) -> dict[str, Any]:
    return {"type": "exchange", **asdict(record)}


def round_row(record: RoundRecord, wall_s: float) -> dict[str, Any]:
    row = {key: value for key, value in asdict(record).items() if key not in ("metrics", "groups")}
    return {"type": "round", **row, "wall_s": round(wall_s, 6)}


def network(topology: Topology) -> dict[str, Any]:
    """Who reports to whom on every hop, and where the nodes of every tier stand (metres, or normalised)."""
    return {
        "parents": [parent.tolist() for parent in topology.parents],
        "positions": [positions.tolist() for positions in topology.positions],
    }


def read_records(folder: Path | str, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of a run folder as plain data, all or of one type (``exchange``, ``round``, ``eval``).

    Half a line at the end, which a process that was killed or still runs may leave, is no record yet.
    """
    folder = Path(folder)
    begins = '{"type": "'
    wanted = begins if kind is None else f'{begins}{kind}"'
    try:
        with (folder / RECORDS).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return
                if line.startswith(begins) and not line.startswith(wanted):
                    continue  # exchanges of many clients are long: only those that are asked for are parsed
                try:
                    row = json.loads(line)
                except ValueError:
                    raise StoreError(f"{folder / RECORDS}, line {number}: not a whole record") from None
                if kind is None or row["type"] == kind:
                    yield row
    except OSError as error:
        raise StoreError(f"cannot read {folder / RECORDS}: {error.strerror or error}") from None


def read_plain(path: Path) -> dict[str, Any]:
    """A JSON file of plain data; nothing where there is none, or none that can be read."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found


def read_summary(folder: Path | str) -> dict[str, Any]:
    folder = Path(folder)
    try:
        found: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} is not a run folder: no readable {SUMMARY} ({type(error).__name__})") from None
    if not isinstance(found, dict) or not {"status", "spec_sha256"} <= found.keys():
        raise StoreError(f"{folder / SUMMARY} is not the summary of a run: it has no status or no fingerprint")
    return found


def environment(device: str, workers: int) -> dict[str, Any]:
    """What the run ran on, without names of machines or people."""
    return {
        "fedradio": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("torch", "numpy", "pydantic", "scikit-learn", "safetensors")},
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "device": device,
        "device_name": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        "workers": workers,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "byteorder": sys.byteorder,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
