"""Atomic file writes, locks between processes, checksums, and JSON that is read with nothing taken on trust."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from fedradio.core.errors import InUseError, StoreError
from fedradio.core.text import short_path

LOCK_FILE = ".lock"
"""Name of a folder's lock file; it is never removed, and its existence alone means nothing."""

MOST_NESTED = 40
"""Deepest nesting of lists and mappings in a JSON file that is believed to be ours."""

TEMPORARY = re.compile(r"\.(.+)\.[0-9]+\.tmp")
"""Names of the temporary files of :func:`replacing`."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Atomic write of a file: a temporary one beside it, flushed to disk, then renamed, the folder flushed too."""
    temporary = temporary_path(path)
    try:
        temporary.unlink(missing_ok=True)  # of a dead process with this number
        with temporary.open("xb") as file:  # never through a link that somebody has put there
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _flush_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):  # it may never have been there
            temporary.unlink()
        if not isinstance(error, OSError):
            raise
        raise StoreError(f"cannot write {short_path(path)}: {error.strerror or error}") from None


def temporary_path(path: Path) -> Path:
    """Temporary file of this process for :func:`replacing`: ``.NAME.PID.tmp`` beside ``path``."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def replaced_name(temporary: Path) -> str | None:
    """Final name of a temporary file of :func:`replacing`; None for any other file."""
    name = TEMPORARY.fullmatch(temporary.name)
    return None if name is None else name[1]


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as file:
        file.write(text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as file:
        file.write(data)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write plain data as JSON, atomically; NaN and infinity are refused."""
    write_bytes(path, canonical(data))


def canonical(data: Mapping[str, Any]) -> bytes:
    """The one way in which plain data is written as JSON; NaN and infinity are refused."""
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode()


def sealed(data: Mapping[str, Any]) -> bytes:
    """A JSON file that carries the checksum of its own other fields."""
    return canonical({**data, "sha256": hashlib.sha256(canonical(data)).hexdigest()})


def unsealed(data: bytes, path: Path) -> dict[str, Any]:
    """The data of a sealed file, without the checksum; raises :class:`StoreError` if any of its bytes has changed."""
    document = parse_json(data, path)
    checksum = document.pop("sha256", None)
    if checksum is None:
        raise StoreError(f"{path}: has no checksum of its own")
    try:
        whole = sealed(document) == data
    except ValueError:  # an infinite number, which JSON cannot hold
        whole = False
    if not whole:
        raise StoreError(f"{path}: has changed since it was written (its checksum is wrong)")
    return document


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; empty where the file is absent or cannot be read."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file opened for reading. Symbolic links are not followed, and what is no file (a folder, a pipe) is refused."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "not a file")
            yield file
    except OSError as error:
        raise StoreError(f"{path}: {_unreadable(path, error)}") from None


def _unreadable(path: Path, error: OSError) -> str:
    """Why a file cannot be read, in words."""
    if path.is_symlink():
        return "is a symbolic link, which is not followed"
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return "is not a file" if path.exists() and not path.is_file() else f"cannot be read ({error.strerror or error})"


def read_bytes(path: Path) -> bytes:
    """The content of a file; see :func:`opened`."""
    with opened(path) as file:
        return file.read()


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; anything else is refused with the line, as are NaN, infinity and deep nesting."""
    try:
        document = json.loads(data.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}, line {_line(data, error.start)}: not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise StoreError(f"{path}, line {error.lineno}: not complete JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: not plain JSON ({error})") from None
    if not isinstance(document, dict):
        raise StoreError(f"{path}, line 1: not a mapping")
    if nested_deeper(document, MOST_NESTED):
        raise StoreError(f"{path}: nested too deeply")
    return document


def nested_deeper(data: Any, most: int) -> bool:
    """Whether lists and mappings stand inside each other more than ``most`` deep."""
    layer = [data]
    for _ in range(most + 1):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not layer:
            return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it contains {name}")


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


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
        raise InUseError(f"{folder} is in use: another process is running in it") from None
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
