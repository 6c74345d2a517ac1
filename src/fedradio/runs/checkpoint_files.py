"""The files of checkpoints: their exact names, and the JSON file of each, checked without reading any tensor.

``checkpoints/round-000012.json`` is sealed: it carries the checksum of its own other fields. It also has those of the
tensors beside it, of the records so far, and of the files that were written before the first round.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fedradio._version import __version__
from fedradio.core.contracts.records import STRICT
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.files import parse_json, read_bytes, sealed, unsealed, write_bytes
from fedradio.core.format import FORMAT, check_format
from fedradio.runs.folder import CHECKPOINT_FOLDER, RECORDS_FILE, SPEC_FILE, checkpoint_round
from fedradio.runs.manifest import Checksum, Damage, Manifest, beginning_differs, difference, file_reason
from fedradio.runs.stored import Count, fitting
from fedradio.runs.summary import RunningSummary
from fedradio.spec.spec import Spec

HEAD = ("format", "fedradio")
"""Keys of a checkpoint beside its content."""


@dataclass(frozen=True)
class TensorForm:
    """Device, type and shape of a tensor."""

    device: str
    dtype: str
    shape: list[Count]

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class CheckpointFile:
    """The JSON file of a checkpoint: the numbers of a state, the running summary, and checksums.

    ``files`` are the files written before the first round, each with the checksums that are accepted: a resumed run
    first adds those of the files that it is about to write. ``spec_sha256`` is the fingerprint of all but the number of
    rounds.
    """

    spec_sha256: str
    t: Count
    time_s: float | None
    energy_j: float | None
    bits: float | None
    tensors: dict[str, TensorForm]
    tensors_file: Checksum
    running: RunningSummary
    records: Checksum
    files: dict[str, list[Checksum]]
    wall_s: float
    checkpoint_s: float

    __pydantic_config__ = STRICT


def fingerprint(spec: Spec) -> str:
    """Fingerprint of everything that determines the states of a run: all but the number of rounds, which may grow."""
    return Spec(spec.plain | {"rounds": 0}).sha256()


def checkpoint_path(folder: Path, t: int) -> Path:
    """The JSON file of the checkpoint after ``t`` rounds."""
    return folder / CHECKPOINT_FOLDER / f"round-{t:06}.json"


def tensors_path(path: Path) -> Path:
    """The tensors beside the JSON file of a checkpoint."""
    return path.with_suffix(".safetensors")


def checkpoint_rounds(folder: Path) -> list[int]:
    """After how many rounds the checkpoints of a run folder were written, rising."""
    return sorted(t for path in own_files(folder) if path.suffix == ".json" and (t := checkpoint_round(path.name)))


def checkpoint_paths(folder: Path) -> list[Path]:
    """The JSON files of the checkpoints of a run folder, the oldest first."""
    return [checkpoint_path(folder, t) for t in checkpoint_rounds(folder)]


def own_files(folder: Path) -> list[Path]:
    """Every file in the folder of checkpoints that has the exact name of one; a linked folder is not looked into."""
    inside = folder / CHECKPOINT_FOLDER
    if inside.is_symlink() or not inside.is_dir():
        return []
    return sorted(path for path in inside.iterdir() if checkpoint_round(path.name) is not None)


def prune(folder: Path, keep: set[int]) -> None:
    """Remove all checkpoints but those after these rounds: files of their exact names, and no others."""
    for path in own_files(folder):
        if checkpoint_round(path.name) not in keep and (path.is_symlink() or path.is_file()):
            path.unlink(missing_ok=True)
    if not keep:
        with suppress(OSError):  # not empty: something in it is not ours
            (folder / CHECKPOINT_FOLDER).rmdir()


def write_checkpoint_file(path: Path, content: CheckpointFile) -> None:
    """Write the JSON file of a checkpoint, which makes it valid."""
    write_bytes(path, sealed({"format": FORMAT, "fedradio": __version__, **asdict(content)}))


def read_checkpoint_file(path: Path) -> CheckpointFile:
    """The JSON file of a checkpoint; raises :class:`StoreError` for a damaged one, or one of another format."""
    data = read_bytes(path)
    check_format(parse_json(data, path), path)  # first: other formats may have no checksum
    document = unsealed(data, path)
    content = fitting(CheckpointFile, {key: value for key, value in document.items() if key not in HEAD}, path)
    if checkpoint_round(path.name) != content.t:
        raise StoreError(f"{path}: is the checkpoint after {content.t} rounds")
    return content


def accept(path: Path, files: Manifest) -> None:
    """Add the checksums of files that are about to be written to those that a checkpoint accepts."""
    content = read_checkpoint_file(path)
    both = {name: list(dict.fromkeys([*content.files.get(name, []), new])) for name, new in files.items()}
    write_checkpoint_file(path, replace(content, files=content.files | both))


def checkpoint_damage(folder: Path, spec: Spec | None, tensors: bool) -> tuple[CheckpointFile | None, list[Damage]]:
    """The last checkpoint if it is whole, and what is damaged about all of them and the records up to them.

    ``tensors``: also read the tensors, which can be large. A checkpoint that has vanished meanwhile is that of a run
    which is under way.
    """
    inside = folder / CHECKPOINT_FOLDER
    if inside.is_symlink() or (inside.exists() and not inside.is_dir()):
        reason = "is a symbolic link, which is not followed" if inside.is_symlink() else "is not a folder"
        return None, [Damage(CHECKPOINT_FOLDER, reason)]
    last, damage = None, []
    for path in checkpoint_paths(folder):
        last, found = _check(folder, path, spec, tensors)
        damage += found if os.path.lexists(path) else []
    return last, damage


def _check(folder: Path, path: Path, spec: Spec | None, tensors: bool) -> tuple[CheckpointFile | None, list[Damage]]:
    """A checkpoint if it is whole, and what is damaged about it and the records up to it."""
    name = str(path.relative_to(folder))
    try:
        content = read_checkpoint_file(path)
    except FormatError:
        raise
    except StoreError as error:
        return None, [Damage(name, file_reason(path, error))]
    beside = tensors_path(path)
    reasons = {
        str(beside.relative_to(folder)): difference(beside, content.tensors_file) if tensors else None,
        RECORDS_FILE: beginning_differs(folder / RECORDS_FILE, content.records),
    }
    if spec is not None and fingerprint(spec) != content.spec_sha256:
        reasons[name] = f"belongs to a different spec than {SPEC_FILE}"
    damage = [Damage(file, reason) for file, reason in reasons.items() if reason is not None]
    return None if damage else content, damage
