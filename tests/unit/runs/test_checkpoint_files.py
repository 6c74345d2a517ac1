"""Files of checkpoints: exact names, what is pruned, and what is noticed without reading a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedradio.core.errors import FormatError, StoreError
from fedradio.runs.checkpoint_files import (
    CheckpointFile,
    TensorForm,
    accept,
    checkpoint_damage,
    checkpoint_path,
    checkpoint_paths,
    checkpoint_rounds,
    fingerprint,
    own_files,
    prune,
    read_checkpoint_file,
    tensors_path,
    write_checkpoint_file,
)
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE
from fedradio.runs.manifest import Damage, checksum
from fedradio.runs.summary import RunningSummary
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def content(spec: Spec, t: int, records: bytes = b"abc") -> CheckpointFile:
    """A checkpoint whose tensors are the bytes ``xyz``."""
    return CheckpointFile(
        spec_sha256=fingerprint(spec),
        t=t,
        time_s=0.1 + 0.2,
        energy_j=None,
        bits=3.0,
        tensors={"shared/w": TensorForm("cpu", "F32", [3])},
        tensors_file=checksum(b"xyz"),
        running=RunningSummary(best_round=t),
        records=checksum(records),
        files={SPEC_FILE: [checksum(b"old")]},
        wall_s=1.5,
        checkpoint_s=0.5,
    )


@pytest.fixture
def folder(tiny: Make, tmp_path: Path) -> Path:
    """A run folder with checkpoints after 2 and 4 rounds."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / RECORDS_FILE).write_bytes(b"abcdef")
    for t, records in ((2, b"abc"), (4, b"abcde")):
        path = checkpoint_path(tmp_path, t)
        tensors_path(path).write_bytes(b"xyz")
        write_checkpoint_file(path, content(tiny(), t, records))
    return tmp_path


def test_the_file_comes_back(tiny: Make, folder: Path) -> None:
    assert [path.name for path in checkpoint_paths(folder)] == ["round-000002.json", "round-000004.json"]
    assert read_checkpoint_file(checkpoint_path(folder, 2)) == content(tiny(), 2)
    assert fingerprint(tiny("rounds=9")) == fingerprint(tiny())
    assert fingerprint(tiny("rule.lr=0.2")) != fingerprint(tiny())


STRANGERS = (
    "round-2.json",
    "round-000002.json.old",
    "round-notes.txt",
    "round-0000002.json",
    "notes",
    "round-००००२२.json",
)
"""Names that are not exactly those of checkpoints."""


def test_nothing_is_removed_that_is_not_exactly_ours(folder: Path) -> None:
    inside = folder / "checkpoints"
    for name in STRANGERS:
        (inside / name).touch()
    checkpoint_path(folder, 1_234_567).touch()
    prune(folder, {4})
    assert checkpoint_rounds(folder) == [4]
    prune(folder, set())
    assert own_files(folder) == []
    assert sorted(path.name for path in inside.iterdir()) == sorted(STRANGERS)
    for name in STRANGERS:
        (inside / name).unlink()
    prune(folder, set())
    assert not inside.exists()


def test_links_are_removed_and_not_what_they_lead_to(folder: Path, tmp_path: Path) -> None:
    path, away = checkpoint_path(folder, 2), tmp_path / "away"
    path.rename(away)
    path.symlink_to(away)
    prune(folder, set())
    assert away.exists()
    (tmp_path / "elsewhere").mkdir()
    checkpoint_path(tmp_path / "elsewhere" / "..", 6)
    kept = tmp_path / "elsewhere" / "round-000006.json"
    kept.touch()
    (folder / "checkpoints").symlink_to(kept.parent)
    prune(folder, set())
    assert kept.exists()
    assert own_files(folder) == []


def test_whole_checkpoints(folder: Path, tiny: Make) -> None:
    last, damage = checkpoint_damage(folder, tiny(), tensors=True)
    assert (last, damage) == (content(tiny(), 4, b"abcde"), [])


@pytest.mark.parametrize(
    ("harm", "file", "words"),
    [
        (
            lambda folder: checkpoint_path(folder, 4).write_text("{"),
            "checkpoints/round-000004.json",
            "not complete JSON",
        ),
        (
            lambda folder: checkpoint_path(folder, 2).rename(checkpoint_path(folder, 4)),
            "checkpoints/round-000004.json",
            "is the checkpoint after 2 rounds",
        ),
        (
            lambda folder: tensors_path(checkpoint_path(folder, 4)).write_bytes(b"xy"),
            "checkpoints/round-000004.safetensors",
            "has 2 bytes",
        ),
        (
            lambda folder: (folder / RECORDS_FILE).write_bytes(b"abcd"),
            RECORDS_FILE,
            "4 bytes, but 5 had been written",
        ),
    ],
)
def test_damage(folder: Path, tiny: Make, harm: Callable[[Path], object], file: str, words: str) -> None:
    harm(folder)
    last, damage = checkpoint_damage(folder, tiny(), tensors=True)
    assert last is None
    assert [(each.file, words in each.reason) for each in damage] == [(file, True)]


def test_damage_without_a_look_at_tensors_and_of_the_folder(folder: Path, tiny: Make) -> None:
    tensors_path(checkpoint_path(folder, 4)).write_bytes(b"")
    assert checkpoint_damage(folder, tiny(), tensors=False)[1] == []
    told = checkpoint_damage(folder, tiny("rule.lr=0.2"), tensors=False)[1]
    assert [each.reason for each in told] == ["belongs to a different spec than spec.yaml"] * 2
    (folder / "checkpoints").rename(folder / "away")
    (folder / "checkpoints").symlink_to(folder / "away")
    told = checkpoint_damage(folder, tiny(), tensors=True)[1]
    assert told == [Damage("checkpoints", "is a symbolic link, which is not followed")]
    (folder / "checkpoints").unlink()
    (folder / "checkpoints").touch()
    assert checkpoint_damage(folder, tiny(), tensors=True)[1] == [Damage("checkpoints", "is not a folder")]


def test_files_that_are_about_to_be_written_are_accepted_too(folder: Path) -> None:
    path = checkpoint_path(folder, 4)
    accept(path, {SPEC_FILE: checksum(b"new"), "network.json": checksum(b"n")})
    accept(path, {SPEC_FILE: checksum(b"new")})
    files = {SPEC_FILE: [checksum(b"old"), checksum(b"new")], "network.json": [checksum(b"n")]}
    assert read_checkpoint_file(path).files == files


def test_other_formats_are_told_from_damage(folder: Path, tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint_path(folder, 4)
    with monkeypatch.context() as patch:
        patch.setattr("fedradio.runs.checkpoint_files.FORMAT", 4)
        write_checkpoint_file(path, content(tiny(), 4))
    with pytest.raises(FormatError, match="format 4"):
        read_checkpoint_file(path)
    with pytest.raises(FormatError, match="format 4"):
        checkpoint_damage(folder, tiny(), tensors=False)
    written = path.read_bytes()
    path.write_text('{"format": 1}')
    with pytest.raises(FormatError, match="format 1"):
        read_checkpoint_file(path)
    path.write_bytes(written.replace(b'"format": 4', b'"format": 3'))
    with pytest.raises(StoreError, match="checksum is wrong"):
        read_checkpoint_file(path)
    write_checkpoint_file(path, replace(content(tiny(), 4), t=5))
    with pytest.raises(StoreError, match="is the checkpoint after 5 rounds"):
        read_checkpoint_file(path)
