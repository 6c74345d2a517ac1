"""The file ``sweep.json`` of a sweep folder, validated by its schema: its variants and the folders of their runs.

It contains a checksum of its own other fields.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio.core.errors import FormatError, StoreError
from fedradio.core.files import parse_json, read_bytes, unsealed
from fedradio.core.format import check_format
from fedradio.core.text import short_path
from fedradio.runs.manifest import file_reason
from fedradio.runs.place import check_place
from fedradio.runs.stored import Count, fitting
from fedradio.spec.spec import Spec, complete_spec
from fedradio.spec.strict import Strict

MARKER = "sweep.json"
"""The file that makes a folder a sweep; its runs are in ``runs/`` next to it."""

RUNS = "runs"
"""Folder of the runs inside the sweep folder."""

STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
"""What a stem looks like: it begins the name of a folder and must not lead out of its parent."""


class StoredVariant(Strict):
    """A variant: the keys that were set, the resulting spec, and the names of its run folders by seed."""

    label: str
    stem: str
    runs: dict[str, str]
    set: dict[str, Any]
    spec: dict[str, Any]


class SweepFile(Strict):
    """``sweep.json``: the spec as given (``base``), the axes with their values, the seeds, and all variants."""

    format: int
    fedradio: str
    name: str
    axes: dict[str, list[Any]]
    seeds: list[Count]
    base: dict[str, Any]
    cells: list[StoredVariant]


@dataclass(frozen=True)
class ListedRun:
    """A run that a sweep lists: its folder, the label of its variant, and its spec, with its seed."""

    folder: Path
    label: str
    spec: Spec


def is_sweep(folder: Path) -> bool:
    """Whether a folder is a sweep folder."""
    return (folder / MARKER).is_file()


def check_outside_sweeps(path: Path) -> None:
    """Refuse a path inside the folder of a sweep, whose runs are its own, and one at which no folder can be."""
    check_place(path)
    place = Path(os.path.realpath(path))
    for folder in place.parents:
        if is_sweep(folder):
            raise StoreError(
                f"{short_path(path)} is inside the sweep folder {short_path(folder)}; choose another --out"
            )


def read_sweep_file(folder: Path) -> SweepFile:
    """The file of a sweep; raises :class:`StoreError` with one sentence if it is damaged, or has another format."""
    path = folder / MARKER
    try:
        data = read_bytes(path)
        check_format(parse_json(data, path), path)  # first: other formats may have no checksum
        sweep = fitting(SweepFile, unsealed(data, path), path)
        variants = [_complete(variant, f"{path}: cells.{number}") for number, variant in enumerate(sweep.cells)]
    except FormatError:
        raise
    except StoreError as error:
        raise StoreError(f"{path} is damaged: {file_reason(path, error)}") from None
    return sweep.model_copy(update={"cells": variants})


def listed_runs(folder: Path) -> list[ListedRun]:
    """The runs that a sweep lists, in its order."""
    return [
        ListedRun(folder / RUNS / name, variant.label, Spec(variant.spec | {"seed": int(seed)}))
        for variant in read_sweep_file(folder).cells
        for seed, name in variant.runs.items()
    ]


def _complete(variant: StoredVariant, where: str) -> StoredVariant:
    """The variant with its complete spec; refused if its run folders are not those of its stem and seeds."""
    if not STEM.fullmatch(variant.stem):
        raise StoreError(f"{where}.stem: {variant.stem!r} cannot begin the name of a run folder")
    for seed, name in variant.runs.items():
        if not (seed.isascii() and seed.isdecimal()) or name != f"{variant.stem}-seed{seed}":
            raise StoreError(f"{where}.runs: {name!r} is not the run folder of seed {seed}")
    spec = complete_spec(variant.spec, f"{where}.spec")
    return variant.model_copy(update={"spec": spec.plain})
