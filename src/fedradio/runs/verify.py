"""Checks whether the files of a run folder are still what the run wrote, and belong together.

A run with a summary is checked against the checksums in it; one that was killed, or is under way, against its last
checkpoint: start files, and the records so far. Version 0.1 kept no checksums: there, spec, number of rounds and last
evaluation must be those of the summary, and everything must have the form that it should have.
"""

from __future__ import annotations

import functools
import json
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fedradio.core.errors import StoreError
from fedradio.core.files import opened
from fedradio.runs.checkpoint_files import CheckpointFile, checkpoint_damage
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    LISTED_FILES,
    NETWORK_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    START_FILES,
    SUMMARY_FILE,
    is_run,
)
from fedradio.runs.manifest import Damage, Manifest, difference, file_reason, manifest_damage
from fedradio.runs.records import read_records
from fedradio.runs.stored import read_description, read_environment, read_network, read_sealed_summary
from fedradio.spec.spec import Spec, stored_spec

T = TypeVar("T")

OLD_BEGINNING, OLD_ROUND, OLD_EVALUATION = b'{"type": "exchange"', b'{"type": "round"', b'{"type": "eval"'
"""How the records of version 0.1 begin, and how the lines of a round and of an evaluation do."""


@dataclass(frozen=True)
class Verdict:
    """What the check of a run folder found.

    ``spec`` is None if it cannot be read, ``summary`` if it is damaged or there is none: the run was killed, or is
    under way. Such a run was checked up to its last whole checkpoint, after ``rounds``; None if there is none.
    ``manifest`` has the checksums of the summary; ``old``: the run is of version 0.1, which kept none.
    """

    spec: Spec | None
    summary: Mapping[str, Any] | None
    manifest: Manifest
    damage: tuple[Damage, ...]
    rounds: int | None = None
    old: bool = False


def check_run(folder: Path, thorough: bool = False) -> Verdict:
    """Check a run folder; raises :class:`StoreError` if it holds no run.

    A ``thorough`` check also reads the checkpoints of a run with a summary, the tensors of all checkpoints, and records
    for which there is no checksum.
    """
    if not is_run(folder):
        raise StoreError(f"{folder} is not a run folder: it has no {SPEC_FILE} and {RECORDS_FILE}")
    damage: list[Damage] = []
    spec = _try(lambda: stored_spec(folder / SPEC_FILE), folder, SPEC_FILE, damage)
    old, rounds = _is_old(folder), None
    summary, manifest = None, None
    if os.path.lexists(folder / SUMMARY_FILE):
        read = _try(lambda: read_sealed_summary(folder), folder, SUMMARY_FILE, damage)
        summary, manifest = (None, None) if read is None else read
    if manifest is not None:
        damage += manifest_damage(folder, manifest, LISTED_FILES)
        damage += checkpoint_damage(folder, spec, tensors=True)[1] if thorough else []
    elif old:
        damage += [] if summary is None or spec is None else _old_damage(folder, spec, summary)
    else:
        if summary is not None:
            summary = None
            damage.append(Damage(SUMMARY_FILE, "has no checksums, unlike any run of this version of fedradio"))
        last, found = checkpoint_damage(folder, spec, tensors=thorough)
        damage += found + ([] if last is None else _start_damage(folder, last))
        rounds = None if last is None else last.t
    if manifest is None:
        damage += _form_damage(folder, damage, records=thorough)
    unique = {each.file: each for each in reversed(damage)}
    return Verdict(spec, summary, manifest or {}, tuple(reversed(unique.values())), rounds, old)


def _start_damage(folder: Path, last: CheckpointFile) -> list[Damage]:
    """Files written before the first round that are not those which the last checkpoint accepts."""
    reasons = {name: difference(folder / name, *last.files.get(name, [])) for name in START_FILES}
    return [Damage(name, reason) for name, reason in reasons.items() if reason is not None]


def _old_damage(folder: Path, spec: Spec, summary: Mapping[str, Any]) -> list[Damage]:
    """What tells in a run without checksums that spec, records and summary do not belong together."""
    damage = []
    if spec.sha256() != summary["spec_sha256"]:
        damage.append(Damage(SPEC_FILE, "is not the spec of this run (the summary has a different fingerprint)"))
    rounds, headline = 0, b""
    with opened(folder / RECORDS_FILE) as file:
        for line in file:
            rounds += line.startswith(OLD_ROUND) and line.endswith(b"\n")
            headline = line if line.startswith(OLD_EVALUATION) else headline
    if rounds != summary["rounds"]:
        damage.append(Damage(RECORDS_FILE, f"has {rounds} rounds, but the run made {summary['rounds']}"))
    elif summary["status"] == "complete" and _other_headline(headline, summary):
        damage.append(Damage(RECORDS_FILE, "its last evaluation differs from the summary"))
    return damage


def _other_headline(line: bytes, summary: Mapping[str, Any]) -> bool:
    """Whether the last evaluation of a run of version 0.1 can be read and says other things than its summary."""
    try:
        last = json.loads(line)
    except (ValueError, RecursionError):  # told of where the form is checked
        return False
    return any(last.get(key) != summary.get(key) for key in ("accuracy", "loss", "best_accuracy", "best_round"))


def _form_damage(folder: Path, known: Sequence[Damage], records: bool) -> list[Damage]:
    """Files without a checksum that do not have their form and are not known to be damaged; ``records`` may be long."""
    damage: list[Damage] = []
    readers: dict[str, Callable[[Path], Any]] = {
        DESCRIPTION_FILE: read_description,
        ENVIRONMENT_FILE: read_environment,
        NETWORK_FILE: read_network,
    }
    readers |= {RECORDS_FILE: lambda folder: deque(read_records(folder), maxlen=0)} if records else {}
    for name, read in readers.items():
        if all(name != each.file for each in known):
            _try(functools.partial(read, folder), folder, name, damage)
    return damage


def _is_old(folder: Path) -> bool:
    """Whether the records are those of version 0.1, which did not describe the spec."""
    if os.path.lexists(folder / DESCRIPTION_FILE):
        return False
    try:
        with opened(folder / RECORDS_FILE) as file:
            return file.read(len(OLD_BEGINNING)) == OLD_BEGINNING
    except StoreError:
        return False


def _try(read: Callable[[], T], folder: Path, name: str, damage: list[Damage]) -> T | None:
    """What is read; None, and one damage more, if it cannot be."""
    try:
        return read()
    except StoreError as error:
        damage.append(Damage(name, file_reason(folder / name, error)))
        return None
