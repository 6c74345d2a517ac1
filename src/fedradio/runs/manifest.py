"""Checksums of files, by which a reader knows whether they are still what a run wrote, and damage that it finds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fedradio.core.contracts.records import STRICT
from fedradio.core.errors import StoreError
from fedradio.core.files import opened

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Checksum:
    """Size in bytes and SHA-256, in hexadecimal, of a file or of its beginning."""

    size: int
    sha256: str

    __pydantic_config__ = STRICT


Manifest = Mapping[str, Checksum]
"""The files that a run wrote, by name, with their checksums."""


@dataclass(frozen=True)
class Damage:
    """A file of a run folder that is not what the run wrote, and in which way."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


def file_reason(path: Path, error: StoreError) -> str:
    """The reason in a message about a file, without the path in front."""
    return str(error).removeprefix(str(path)).removeprefix(":").removeprefix(",").strip()


def checksum(data: bytes) -> Checksum:
    """The checksum of some bytes."""
    return Checksum(len(data), hashlib.sha256(data).hexdigest())


def difference(path: Path, *accepted: Checksum) -> str | None:
    """Why a file is none of those that are accepted; None if it is one."""
    sizes = [known.size for known in accepted]
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size not in sizes:
                return f"has {size} bytes, but the run wrote {' or '.join(map(str, dict.fromkeys(sizes)))}"
            found = _beginning(file, size)
    except StoreError as error:
        return file_reason(path, error)
    return None if found in accepted else "has changed since the run wrote it (its checksum is wrong)"


def beginning_differs(path: Path, wanted: Checksum) -> str | None:
    """Why the beginning of a file is not what it was; None if it is. What was appended later may be anything."""
    try:
        with opened(path) as file:
            found = _beginning(file, wanted.size)
    except StoreError as error:
        return file_reason(path, error)
    if found.size < wanted.size:
        return f"has {found.size} bytes, but {wanted.size} had been written at the checkpoint"
    return None if found == wanted else "has changed since the run wrote it (its checksum is wrong)"


def manifest_damage(folder: Path, manifest: Manifest, own: Iterable[str]) -> list[Damage]:
    """Files that are missing or differ from the manifest, and ``own`` names that it does not list."""
    reasons = {name: difference(folder / name, wanted) for name, wanted in manifest.items()}
    strangers = [name for name in own if name not in manifest and os.path.lexists(folder / name)]
    reasons |= dict.fromkeys(strangers, "does not belong to this run: its summary does not list it")
    return [Damage(name, reason) for name, reason in reasons.items() if reason is not None]


def plain_manifest(manifest: Manifest) -> dict[str, Any]:
    """A manifest as plain data."""
    return {name: asdict(known) for name, known in manifest.items()}


def _beginning(file: BinaryIO, size: int) -> Checksum:
    """The checksum of the next ``size`` bytes of a file, or of as many as it has."""
    sha256, left = hashlib.sha256(), size
    while left and (chunk := file.read(min(CHUNK_BYTES, left))):
        sha256.update(chunk)
        left -= len(chunk)
    return Checksum(size - left, sha256.hexdigest())
