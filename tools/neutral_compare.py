"""Two run folders compared without tolerance: model, records, summary and complete spec.

Specs are compared without the keys that have their defaults, hence fingerprints are not compared. Left out are also the
number of the format, the sentence that describes a spec, and what the clock and the machine decide: wall-clock seconds,
seconds and octets of a federation's letters, seconds spent on checkpoints, memory, disk, and checksums of files in
which these stand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from fedradio.spec.defaults import without_defaults

MODEL, RECORDS, SUMMARY, SPEC = "model.safetensors", "records.jsonl", "summary.json", "spec.yaml"
ALL = (SPEC, RECORDS, MODEL, SUMMARY)
"""What a run leaves."""
CLOCK = frozenset({"wall_s", "measured_s", "train_s", "wire_bits"})
"""What the clock decides; a device writes its seconds into its letter, whose length depends on their digits."""
MACHINE = CLOCK | {"cpu_s", "checkpoint_s", "disk_bytes", "memory_bytes", "files", "sha256"}
DESCRIPTION = frozenset({"about"})
FINGERPRINT = frozenset({"spec_sha256"})
FORMAT = frozenset({"format"})
ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """The first place where a file of two run folders differs; ``record`` counts records from 1."""

    file: str
    record: int | None
    field: str
    base: object
    changed: object

    def __str__(self) -> str:
        number = "" if self.record is None else f"record {self.record}"
        place = ", ".join(part for part in (self.file, number, self.field) if part)
        return f"{place}: base {_short(self.base)}, changed {_short(self.changed)}"


def first_difference(base: object, changed: object, path: str = "") -> tuple[str, object, object] | None:
    """Where plain data first differ, and how; numbers by every digit, so that 1 is not 1.0 and 0.0 is not -0.0."""
    if isinstance(base, dict) and isinstance(changed, dict):
        keys = [*base, *(key for key in changed if key not in base)]
        inner = ((f"{path}.{key}".lstrip("."), base.get(key, ABSENT), changed.get(key, ABSENT)) for key in keys)
    elif isinstance(base, list) and isinstance(changed, list):
        pairs = enumerate(zip_longest(base, changed, fillvalue=ABSENT))
        inner = ((f"{path}[{i}]", left, right) for i, (left, right) in pairs)
    else:
        return None if repr(base) == repr(changed) else (path, base, changed)
    differences = (first_difference(left, right, place) for place, left, right in inner)
    return next((difference for difference in differences if difference is not None), None)


def content(path: Path) -> list[Any]:
    """What a text file of a run folder says about the results: its records, its summary, or its spec."""
    text = path.read_text(encoding="utf-8")
    if path.name == RECORDS:
        return [_without(json.loads(line), CLOCK | FORMAT) for line in text.splitlines()]
    if path.name == SUMMARY:
        return [_without(json.loads(text), MACHINE | FINGERPRINT)]
    return [_without(without_defaults(yaml.safe_load(text)), DESCRIPTION)]


def compare_text(base: Path, changed: Path) -> Difference | None:
    """The first record, or field of a summary or spec, in which two files differ."""
    for number, (left, right) in enumerate(zip_longest(content(base), content(changed), fillvalue=ABSENT), 1):
        if values := first_difference(left, right):
            return Difference(base.name, number if base.name == RECORDS else None, *values)
    return None


def compare_bytes(base: Path, changed: Path) -> Difference | None:
    """The first byte in which two files differ."""
    left, right = base.read_bytes(), changed.read_bytes()
    if left == right:
        return None
    at = next(i for i, (a, b) in enumerate(zip_longest(left, right)) if a != b)
    return Difference(base.name, None, f"byte {at}", left[at : at + 8].hex(" "), right[at : at + 8].hex(" "))


def compare(base: Path, changed: Path, files: Sequence[str] = ALL) -> list[Difference]:
    """Every one of the files of two run folders that differs or is absent; none: the runs are equal."""
    differences: list[Difference | None] = []
    for name in files:
        left, right = base / name, changed / name
        if left.is_file() and right.is_file():
            differences.append((compare_bytes if name == MODEL else compare_text)(left, right))
        else:
            presence = ["there" if path.is_file() else ABSENT for path in (left, right)]
            differences.append(Difference(name, None, "", *presence))
    return [difference for difference in differences if difference is not None]


def _without(row: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def _short(value: object, most: int = 100) -> str:
    text = str(value)
    return text if len(text) <= most else text[:most] + "..."
