"""Files of a run that is made where its folder is not: sent as they change, and stored so that at any moment the folder
is one that a killed process may have left.

What a checkpoint or a summary vouches for is read after it and stored before it. Only files of a run are stored or
removed, whatever comes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE, write_bytes
from fedradio.runs.folder import (
    CHECKPOINT_FOLDER,
    DAMAGED_FOLDER,
    OWN_FILES,
    RECORDS_FILE,
    SUMMARY_FILE,
    checkpoint_round,
)

Json = dict[str, Any]

DAMAGED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.[0-9]+")


def is_of_run(name: str) -> bool:
    """Whether this is the name of a file of a run, below its folder."""
    *above, last = name.split("/")
    if above == [CHECKPOINT_FOLDER]:
        return checkpoint_round(last) is not None
    if above == [DAMAGED_FOLDER]:
        return DAMAGED_NAME.fullmatch(last) is not None
    return not above and last in OWN_FILES - {LOCK_FILE}


def files_of_run(folder: Path) -> list[str]:
    """Names of the files that a run has, below its folder."""
    inside = [path for sub in ("", CHECKPOINT_FOLDER, DAMAGED_FOLDER) for path in (folder / sub).glob("*")]
    names = [path.relative_to(folder).as_posix() for path in inside if path.is_file() and not path.is_symlink()]
    return sorted(name for name in names if is_of_run(name))


class Outbox:
    """What is still to be sent of a folder in which a run is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sent: dict[str, tuple[int, int, int]] = {}
        self._offset = 0

    def shipment(self) -> Json | None:
        """Files that have changed since the last one, in the order in which they are to be stored, the new end of the
        records, and the names of all files; None if nothing has changed."""
        names = files_of_run(self._folder)
        if not names:
            return None
        changed = [name for name in names if name != RECORDS_FILE and self._sent.get(name) != self._mark(name)]
        found: dict[str, bytes] = {}
        marks: dict[str, tuple[int, int, int]] = {}
        for name in sorted(changed, key=_trust, reverse=True):
            marks[name] = self._mark(name)
            with suppress(OSError):  # an older checkpoint, which was removed just now
                found[name] = (self._folder / name).read_bytes()
        offset, records = self._records()
        if not found and not records and set(names) == {*self._sent, RECORDS_FILE}:
            return None
        kept = {name: self._sent[name] for name in names if name in self._sent}
        self._sent = kept | {name: marks[name] for name in found}
        self._offset = offset + len(records)
        ordered = [[name, found[name]] for name in sorted(found, key=_trust)]
        return {"event": "files", "names": names, "files": ordered, "offset": offset, "records": records}

    def _mark(self, name: str) -> tuple[int, int, int]:
        """What changes with the content of a file, which is always written anew."""
        with suppress(OSError):
            status = (self._folder / name).stat()
            return status.st_ino, status.st_size, status.st_mtime_ns
        return 0, 0, 0

    def _records(self) -> tuple[int, bytes]:
        """The records that are new, and where they begin; all of them if they were cut."""
        path = self._folder / RECORDS_FILE
        try:
            offset = self._offset if path.stat().st_size >= self._offset else 0
            with path.open("rb") as file:
                file.seek(offset)
                return offset, file.read()
        except OSError:
            return 0, b""


def store(folder: Path, shipment: Mapping[str, Any]) -> None:
    """Store what has come of a run, and remove what it has no longer."""
    files: list[tuple[str, bytes]] = [(name, data) for name, data in shipment["files"]]
    names: list[str] = shipment["names"]
    strange = [name for name in (*names, *(name for name, _ in files)) if not is_of_run(name)]
    if strange:
        raise StoreError(f"{folder}: {strange[0]!r} is not a file of a run and is not stored")
    if SUMMARY_FILE not in names:
        (folder / SUMMARY_FILE).unlink(missing_ok=True)
    late = [(name, data) for name, data in files if _trust(name) > 0]
    for name, data in (each for each in files if _trust(each[0]) == 0):
        _write(folder / name, data)
    _store_records(folder / RECORDS_FILE, shipment["offset"], shipment["records"])
    for name, data in late:
        _write(folder / name, data)
    for name in set(files_of_run(folder)) - set(names):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # it may hold files
        (folder / CHECKPOINT_FOLDER).rmdir()


def held_files(folder: Path) -> dict[str, bytes]:
    """All files of a run, for whoever goes on with it elsewhere."""
    return {name: (folder / name).read_bytes() for name in files_of_run(folder)}


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put the files of a run into an empty folder."""
    for name, data in files.items():
        if is_of_run(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def _trust(name: str) -> int:
    """0 for files that vouch for nothing, 1 for checkpoints that vouch for these, 2 for the summary."""
    checkpoint = name.startswith(f"{CHECKPOINT_FOLDER}/") and name.endswith(".json")
    return 2 if name == SUMMARY_FILE else int(checkpoint)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    write_bytes(path, data)


def _store_records(path: Path, offset: int, data: bytes) -> None:
    """Append records behind their first ``offset`` bytes; all of them are written anew, and whole."""
    if offset == 0:
        _write(path, data)
        return
    with path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) < offset:
            raise StoreError(f"{path}: records are missing before those that have arrived")
        file.seek(offset)
        file.truncate()
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
