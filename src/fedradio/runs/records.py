"""The records of a run as lines of JSON: one for every exchange, round and evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedradio.core.contracts import ExchangeRecord, RoundRecord
from fedradio.core.errors import StoreError
from fedradio.runs.folder import RECORDS_FILE


def exchange_row(record: ExchangeRecord) -> dict[str, Any]:
    """The record of an exchange as plain data."""
    return {"type": "exchange", **asdict(record)}


def round_row(record: RoundRecord, wall_s: float) -> dict[str, Any]:
    """The record of a round as plain data, without its evaluation; ``wall_s`` are the wall seconds it took."""
    row = {key: value for key, value in asdict(record).items() if key not in ("metrics", "groups")}
    return {"type": "round", **row, "wall_s": round(wall_s, 6)}


def read_records(folder: Path | str, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of a run folder as plain data, all or of one type (``exchange``, ``round``, ``eval``).

    An incomplete last line, left by a process that was killed or is still writing, is ignored.
    """
    folder = Path(folder)
    begins = '{"type": "'
    wanted = begins if kind is None else f'{begins}{kind}"'
    try:
        with (folder / RECORDS_FILE).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return
                if line.startswith(begins) and not line.startswith(wanted):
                    continue  # exchanges of many clients are long: only those that are asked for are parsed
                try:
                    row = json.loads(line)
                except ValueError:
                    raise StoreError(f"{folder / RECORDS_FILE}, line {number}: not a whole record") from None
                if kind is None or row["type"] == kind:
                    yield row
    except OSError as error:
        raise StoreError(f"cannot read {folder / RECORDS_FILE}: {error.strerror or error}") from None
