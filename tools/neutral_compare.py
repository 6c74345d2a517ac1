"""Two run folders compared without tolerance: model, records, summary and complete spec.

A version writes keys into specs that an earlier one did not have: their neutral values do not count as a difference.
Left out is only the sentence that describes a spec, and what the clock and the machine decide: wall-clock seconds,
seconds spent on checkpoints, memory, disk, and checksums of files in which these stand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

MODEL, RECORDS, SUMMARY, SPEC = "model.safetensors", "records.jsonl", "summary.json", "spec.yaml"
CLOCK = frozenset({"wall_s"})
MACHINE = frozenset({"wall_s", "cpu_s", "checkpoint_s", "disk_bytes", "memory_bytes", "files", "sha256"})
ABSENT = "(absent)"
LATER_KEYS: dict[str, Any] = {
    "topology(clusters).layouts": "spaced",
    "data.partition(label_gaps).labels": "lack_two",
    "data.partition(label_gaps).inside": "samples",
    "data.partition(label_gaps).drawn": False,
    "hops.*.channel(power_law).noise_w_hz": None,
    "world_seed": None,
    "topology(flat).via": None,
    "hops.*.channel(urban_macro).nlos": "standard",
    "hops.*.policy(joint).rho": 0.0,
    "hops.*.policy(joint).iterations": 50,
    "hops.*.policy(joint).precision": 1e-3,
    "hops.*.policy(joint).start": "full_power",
    "grouping": "auto",
    "metrics": [],
    "hops.*.transforms": [],
    "hops.*.receiver": None,
    "rule(sgd).lr_per_step": False,
    "algorithm(osafl).score": "similarity",
    "algorithm(osafl).normalise": "updates",
    "algorithm(osafl).smoothness": 1.0,
    "algorithm(osafl).variance": 1.0,
    "algorithm(osafl).shift": 0.0,
    "algorithm(osafl).divergence": 0.0,
    "algorithm(osafl).rho_1": 1.0,
    "algorithm(afa_cd).normalise": "updates",
    "data.source(video_files).images": "generated",
    "data.source(video_files).image_std": 1.0,
    "data.source(video_files).genre": "unit",
    "data.stream(fifo).removal": "fifo",
    "hops.*.policy(per_client).start": [1.0, 1.0],
    "rule(sgd).epochs_over": "labelled",
    "rule(adam).epochs_over": "labelled",
    "algorithm(fedcpsl).pseudo_rate": None,
    "algorithm(fedcpsl).pseudo_on": "unlabelled",
    "algorithm(fedcpsl).phases": None,
    "algorithm(fedshvr).pseudo_rate": None,
    "algorithm(fedshvr).pseudo_on": "unlabelled",
    "algorithm(apsfl).pseudo_rate": None,
    "algorithm(apsfl).pseudo_on": "unlabelled",
    "algorithm(apsfl).phases": None,
    "algorithm(apfl).phases": None,
    "algorithm(apfl_tuned).phases": None,
    "data.source(videos).entry": "favourite",
    "data.source(videos).zipf_gamma": 1.0,
    "data.source(videos).drift": 0.0,
    "data.source(video_files).drift": 0.0,
    "cache": None,
}
"""Keys of specs that came after version 0.1, and their neutral values; the star in ``hops.*.key`` is every hop, and
``algorithm(osafl).score`` is a key of parts of that kind."""
RENAMED = {"hops.*.channel(power_law).noise_symbol": "noise"}
"""Keys of specs that have another name than in version 0.1, and their old names."""
LATER_NOTES = frozenset({"tx_power_vector"})
"""Notes of exchanges that came after version 0.1 and follow from others: each sender's power times the channel uses."""
REASONS = ("none", "not_selected", "energy", "deadline", "outage", "no_data", "no_news")
"""Reasons in the order of their numbers."""


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


def dense_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records of a run in one form, whatever its version wrote: dense, without a header.

    Version 0.1 wrote a value for every sender, reasons as numbers, and the metrics of an evaluation among its fields.
    Later ones list the active senders; what they list is spread here, independently of the package.
    """
    header = rows[0] if rows and rows[0]["type"] == "header" else None
    if header is None:
        return [dict(row) for row in rows]
    spread, best = [], None
    for row in rows[1:]:
        if row["type"] == "exchange":
            spread.append(_dense_exchange(row, header["senders"][row["hop"]]))
        elif row["type"] == "evaluation":
            best = row if best is None or row["metrics"]["accuracy"] > best["metrics"]["accuracy"] else best
            spread.append(_dense_evaluation(row, best))
        else:
            spread.append(dict(row))
    return spread


def _dense_exchange(row: Mapping[str, Any], senders: int) -> dict[str, Any]:
    ids = row["ids"]

    def spread(values: list[Any] | None, rest: Any = 0.0) -> list[Any] | None:
        known = None if values is None else dict(zip(ids, values, strict=True))
        return None if known is None else [known.get(sender, rest) for sender in range(senders)]

    reasons = dict.fromkeys(range(senders), row["rest"]) | dict(zip(ids, row["why"], strict=True))
    reasons |= {sender: name for name, idle in row["idle"].items() for sender in idle}
    joules = {name: spread(row[name]) for name in ("cpu_hz", "power_w", "seconds", "compute_j", "tx_j")}
    notes = {
        name: spread(note["values"], note["rest"]) if note["axis"] == "active" else note["values"]
        for name, note in row["notes"].items()
        if name not in LATER_NOTES
    }
    return {
        **{name: row[name] for name in ("type", "t", "hop", "e")},
        "active": spread([True] * len(ids), False),
        "arrived": spread(row["arrived"], False),
        "reason": [REASONS.index(reasons[sender]) for sender in range(senders)],
        "steps": spread(row["steps"], 0),
        **joules,
        **{name: row[name] for name in ("bits", "uses", "time_s", "effective")},
        "notes": notes,
    }


def _dense_evaluation(row: Mapping[str, Any], best: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "eval",
        "t": row["round"] - 1,
        "rounds": row["round"],
        **row["metrics"],
        "best_accuracy": best["metrics"]["accuracy"],
        "best_round": best["round"],
        "groups": row["groups"],
    }


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
        return [_without(row, CLOCK) for row in dense_rows([json.loads(line) for line in text.splitlines()])]
    return [
        _without(json.loads(text), MACHINE) if path.name == SUMMARY else without_neutral(renamed(yaml.safe_load(text)))
    ]


def without_neutral(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec without the later keys that have their neutral values, and without its description."""
    spec.pop("about", None)
    for path, neutral in LATER_KEYS.items():
        *above, key = path.split(".")
        holders: list[Any] = [spec]
        for name in above:
            holders = [inner for holder in holders for inner in _inside(holder, name)]
        for holder in holders:
            if key in holder and holder[key] == neutral:
                del holder[key]
    return spec


def _inside(holder: Any, name: str) -> list[Any]:
    """What stands in a mapping or list under a name of a path; with ``name(kind)`` only a part of that kind."""
    if name == "*":
        return [item for item in holder if isinstance(item, dict)] if isinstance(holder, list) else []
    name, _, kind = name.removesuffix(")").partition("(")
    inner = holder.get(name) if isinstance(holder, dict) else None
    if kind:
        return [inner] if isinstance(inner, dict) and inner.get("kind") == kind else []
    return [inner] if isinstance(inner, dict | list) else []


def renamed(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec with today's names of keys that were called otherwise."""
    for path, old in RENAMED.items():
        *above, key = path.split(".")
        holders: list[Any] = [spec]
        for name in above:
            holders = [inner for holder in holders for inner in _inside(holder, name)]
        for holder in holders:
            if old in holder:
                holder[key] = holder.pop(old)
    return spec


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


def compare(base: Path, changed: Path) -> list[Difference]:
    """Every file of two run folders that holds results and differs; none: the runs are equal."""
    differences: list[Difference | None] = []
    for name in (SPEC, RECORDS, MODEL, SUMMARY):
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
