"""Atomic file writes, locks between processes, checksums."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from fedradio.core.errors import StoreError

LOCK_FILE = ".lock"
"""Name of a folder's lock file; it is never removed, and its existence alone means nothing."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Atomic write of a file: a temporary one beside it, flushed to disk, then renamed, the folder flushed too."""
    temporary = temporary_path(path)
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


def temporary_path(path: Path) -> Path:
    """Temporary file of this process for :func:`replacing`: ``.NAME.PID.tmp`` beside ``path``."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def replaced_name(temporary: Path) -> str | None:
    """Final name of a temporary file of :func:`replacing`; None for any other file."""
    name, _, number = temporary.name.removeprefix(".").removesuffix(".tmp").rpartition(".")
    ours = temporary.name.startswith(".") and temporary.name.endswith(".tmp")
    return name if ours and name and number.isdecimal() else None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as file:
        file.write(text.encode())


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write plain data as JSON, atomically; NaN and infinity are refused."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; empty where the file is absent or cannot be read."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def file_sha256(path: Path) -> str:
    """SHA-256 checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(folder: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Exclusive lock of a folder between processes; waits up to ``wait_s`` for another process to release it.

    The lock is the operating system's: it ends with the process that has it, however that ends.
    """
    lock = FileLock(folder / LOCK_FILE, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=wait_s, blocking=wait_s > 0, poll_interval=0.1)
    except Timeout:
        raise StoreError(f"{folder} is in use: another process is running in it") from None
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"{folder} cannot be locked ({reason}); choose another folder or file system") from None
    try:
        yield
    finally:
        lock.release()


def _flush_folder(folder: Path) -> None:
    """Flush the renames in a folder to disk. Windows has no such call; some file systems refuse it with EINVAL."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
