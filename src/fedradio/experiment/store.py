"""Run folders, written so that a crash never leaves a half file.

``spec.yaml`` (complete), ``environment.json``, ``records.jsonl`` (one line a record, flushed after every round) and
``summary.json``. JSON only; undefined numbers are null.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from fedradio._version import __version__
from fedradio.core.contracts import ExchangeRecord, RoundRecord
from fedradio.core.errors import StoreError

RECORDS, SUMMARY, SPEC, ENVIRONMENT = "records.jsonl", "summary.json", "spec.yaml", "environment.json"


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a temporary neighbour, flushed to disk, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def new_folder(name: str, seed: int, root: Path = Path("runs")) -> Path:
    """``runs/NAME-seedN``, with a number behind it where that is taken."""
    stem = f"{name}-seed{seed}"
    number = 1
    while (folder := root / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


class RunFolder:
    """A folder that receives one run; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise StoreError(f"{path} is not empty; choose another --out, or remove it")
            self._records = (path / RECORDS).open("w", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot use {path} as a run folder: {error.strerror or error}") from None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._records.close()

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Add records; they are on their way to the disk when this returns."""
        try:
            for row in rows:
                self._records.write(json.dumps(row, allow_nan=False) + "\n")
            self._records.flush()
        except OSError as error:
            raise StoreError(f"cannot write {self.path / RECORDS}: {error.strerror or error}") from None


def exchange_row(record: ExchangeRecord) -> dict[str, Any]:
    return {"type": "exchange", **asdict(record)}


def round_row(record: RoundRecord, wall_s: float) -> dict[str, Any]:
    row = {key: value for key, value in asdict(record).items() if key != "metrics"}
    return {"type": "round", **row, "wall_s": round(wall_s, 6)}


def read_records(folder: Path | str, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of a run folder as plain data, all or of one type (``exchange``, ``round``, ``eval``)."""
    folder = Path(folder)
    try:
        with (folder / RECORDS).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    raise StoreError(f"{folder / RECORDS}, line {number}: not a whole record") from None
                if kind is None or row["type"] == kind:
                    yield row
    except OSError as error:
        raise StoreError(f"cannot read {folder / RECORDS}: {error.strerror or error}") from None


def read_summary(folder: Path | str) -> dict[str, Any]:
    folder = Path(folder)
    try:
        found: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} is not a run folder: no readable {SUMMARY} ({type(error).__name__})") from None
    return found


def environment(device: str, workers: int) -> dict[str, Any]:
    """What the run ran on, without names of machines or people."""
    return {
        "fedradio": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("torch", "numpy", "pydantic", "scikit-learn")},
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
