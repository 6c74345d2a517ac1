"""Checks whether the files of a run folder are still what the run wrote, and belong together.

A run with a summary is checked against the checksums in it; one that was killed, or is under way, against its last
checkpoint: start files, and the records so far; of files without a checksum, everything must have its form.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fedradio.core.errors import StoreError
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
from fedradio.runs.records import check_run_format, read_records
from fedradio.runs.stored import read_description, read_environment, read_network, read_sealed_summary
from fedradio.spec.spec import Spec, stored_spec

T = TypeVar("T")


@dataclass(frozen=True)
class Verdict:
    """What the check of a run folder found.

    ``spec`` is None if it cannot be read, ``summary`` if it is damaged or there is none: the run was killed, or is
    under way. Such a run was checked up to its last whole checkpoint, after ``rounds``; None if there is none.
    ``manifest`` has the checksums of the summary.
    """

    spec: Spec | None
    summary: Mapping[str, Any] | None
    manifest: Manifest
    damage: tuple[Damage, ...]
    rounds: int | None = None


def check_run(folder: Path, thorough: bool = False) -> Verdict:
    """Check a run folder; raises :class:`StoreError` if it holds no run, or one of another format.

    A ``thorough`` check also reads the checkpoints of a run with a summary, the tensors of all checkpoints, and records
    for which there is no checksum.
    """
    if not is_run(folder):
        raise StoreError(f"{folder} is not a run folder: it has no {SPEC_FILE} and {RECORDS_FILE}")
    check_run_format(folder)
    damage: list[Damage] = []
    spec = _try(lambda: stored_spec(folder / SPEC_FILE), folder, SPEC_FILE, damage)
    summary, manifest, rounds = None, None, None
    if os.path.lexists(folder / SUMMARY_FILE):
        read = _try(lambda: read_sealed_summary(folder), folder, SUMMARY_FILE, damage)
        summary, manifest = (None, None) if read is None else read
    if manifest is not None:
        damage += manifest_damage(folder, manifest, LISTED_FILES)
        damage += checkpoint_damage(folder, spec, tensors=True)[1] if thorough else []
    else:
        last, found = checkpoint_damage(folder, spec, tensors=thorough)
        damage += found + ([] if last is None else _start_damage(folder, last))
        rounds = None if last is None else last.t
        damage += _form_damage(folder, damage, records=thorough)
    unique = {each.file: each for each in reversed(damage)}
    return Verdict(spec, summary, manifest or {}, tuple(reversed(unique.values())), rounds)


def _start_damage(folder: Path, last: CheckpointFile) -> list[Damage]:
    """Files written before the first round that are not those which the last checkpoint accepts."""
    reasons = {name: difference(folder / name, *last.files.get(name, [])) for name in START_FILES}
    return [Damage(name, reason) for name, reason in reasons.items() if reason is not None]


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


def _try(read: Callable[[], T], folder: Path, name: str, damage: list[Damage]) -> T | None:
    """What is read; None, and one damage more, if it cannot be."""
    try:
        return read()
    except StoreError as error:
        damage.append(Damage(name, file_reason(folder / name, error)))
        return None
