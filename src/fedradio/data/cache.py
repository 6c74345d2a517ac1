"""Local store of fetched data sets: a folder each, with four ``.npy`` arrays and a manifest that is written last.

Every file is written under a temporary name, flushed to disk and then renamed, so an interruption leaves either no
file or a whole one; without its manifest a data set counts as absent.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fedradio.core.errors import DataError
from fedradio.core.files import read_json, replaced_name, replacing, write_json
from fedradio.data.catalog import CATALOG, PARTS, Arrays, DataSet, differing, digests, find

MANIFEST = "manifest.json"
STALE_S = 3600.0
"""Age in seconds after which a half-written file counts as left behind by a killed process."""

Status = Literal["embedded", "fetched", "damaged", "absent"]


@dataclass(frozen=True)
class Entry:
    """One line of ``fedradio data ls``: a data set, the ``nbytes`` of its arrays, and its ``origin``."""

    name: str
    status: Status
    train: int
    test: int
    dims: tuple[int, ...]
    classes: int
    nbytes: int
    licence: str
    origin: str = ""
    path: Path | None = None

    @property
    def samples(self) -> str:
        """Numbers of training and test samples as text."""
        return f"{self.train:,} + {self.test:,}" if self.test else f"{self.train:,}"

    @property
    def shape(self) -> str:
        """Channels, height and width as text."""
        return "x".join(map(str, self.dims))


def home() -> Path:
    """The store's folder: ``$FEDRADIO_HOME/data``, else ``fedradio/data`` in the user's cache folder."""
    if chosen := os.environ.get("FEDRADIO_HOME"):
        return Path(chosen).expanduser() / "data"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "fedradio" / "data"


def path(name: str) -> Path:
    """The folder of a data set, fetched or not."""
    return home() / find(name).name


def ls() -> list[Entry]:
    """All data sets of images with their status, judged by manifests and file sizes (nothing is hashed)."""
    digits = Entry("digits", "embedded", 1797, 0, (1, 8, 8), 10, 1797 * 65, "CC BY 4.0", "fedradio")
    return [digits, *(_entry(dataset) for dataset in CATALOG.values())]


def load(name: str) -> Arrays:
    """Verified arrays of a fetched data set; a :class:`DataError` with the remedy when it is absent or damaged."""
    dataset = find(name)
    if status(dataset) == "absent":
        raise DataError(
            f"The data set {name} is not on this machine; run `fedradio data fetch {name}` once to download it."
        )
    arrays = read(dataset)
    if arrays is None:
        raise DataError(f"The stored data set {name} is damaged; run `fedradio data fetch {name}` to replace it.")
    return arrays


def status(dataset: DataSet) -> Status:
    """Status of a data set: absent without a manifest, damaged when the manifest or a file's size is wrong."""
    folder = path(dataset.name)
    if _size(folder / MANIFEST) is None:
        return "absent"
    stored = read_json(folder / MANIFEST)
    sizes = {part: _size(folder / f"{part}.npy") for part in PARTS}
    known = not dataset.sha256 or stored.get("sha256") == dict(zip(PARTS, dataset.sha256, strict=True))
    return "fetched" if known and None not in sizes.values() and stored.get("bytes") == sizes else "damaged"


def read(dataset: DataSet) -> Arrays | None:
    """The stored arrays if all four exist and match the checksums, whatever the manifest says; else None.

    Where the catalogue has no checksums of arrays, those count that the manifest took when the files were decoded.
    """
    folder = path(dataset.name)
    try:
        arrays = Arrays(*(np.load(folder / f"{part}.npy", allow_pickle=False) for part in PARTS))
    except (OSError, ValueError, EOFError):
        return None
    if dataset.difference(arrays):
        return None
    return arrays if dataset.sha256 or _as_written(folder, arrays) else None


def _as_written(folder: Path, arrays: Arrays) -> bool:
    """Whether the arrays are those whose checksums the manifest holds."""
    stored = read_json(folder / MANIFEST).get("sha256")
    return isinstance(stored, dict) and not differing(digests(arrays), {part: str(stored.get(part)) for part in PARTS})


def write(dataset: DataSet, arrays: Arrays, origin: str) -> Path:
    """Store verified arrays and, last, their manifest; returns the folder."""
    folder = path(dataset.name)
    folder.mkdir(parents=True, exist_ok=True)
    _remove_halves(folder)
    for part, array in arrays.items():
        with replacing(folder / f"{part}.npy") as file:
            np.save(file, array, allow_pickle=False)
    manifest = {
        "name": dataset.name,
        "origin": origin,
        "sha256": digests(arrays),
        "bytes": {part: _size(folder / f"{part}.npy") for part in PARTS},
        "licence": dataset.licence,
        "citation": dataset.citation,
    }
    write_json(folder / MANIFEST, manifest)
    return folder


def _entry(dataset: DataSet) -> Entry:
    state = status(dataset)
    folder = path(dataset.name)
    return Entry(
        name=dataset.name,
        status=state,
        train=dataset.train,
        test=dataset.test,
        dims=dataset.shape,
        classes=dataset.classes,
        nbytes=dataset.nbytes,
        licence=dataset.licence,
        origin=str(read_json(folder / MANIFEST).get("origin", "")) if state == "fetched" else "",
        path=folder if state != "absent" else None,
    )


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except OSError:
        return None


def _remove_halves(folder: Path) -> None:
    """Remove half-written files of killed processes; a young one may belong to a process at work."""
    for half in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if replaced_name(half) is not None and time.time() - half.stat().st_mtime > STALE_S:
                half.unlink()
