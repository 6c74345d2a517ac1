"""Checks of run folders: complete, killed, of another format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.sealing import other_format, reseal, unfinish

from fedradio.core.errors import FormatError, StoreError
from fedradio.runs.checkpoint_files import checkpoint_paths
from fedradio.runs.folder import (
    ENVIRONMENT_FILE,
    MODEL_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
)
from fedradio.runs.manifest import Damage
from fedradio.runs.run import run
from fedradio.runs.verify import check_run
from fedradio.spec.spec import Spec


@pytest.fixture
def folder(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    run(tiny("rounds=2"), tmp_path / "run", workers=1)
    return tmp_path / "run"


def files(damage: tuple[Damage, ...]) -> list[str]:
    return [each.file for each in damage]


def test_a_complete_run(folder: Path, tiny: Callable[..., Spec]) -> None:
    verdict = check_run(folder, thorough=True)
    assert verdict.damage == ()
    assert verdict.spec == tiny("rounds=2")
    assert verdict.summary is not None
    assert verdict.manifest[SPEC_FILE].size == (folder / SPEC_FILE).stat().st_size


def test_files_of_other_commands_are_none_of_its_business(folder: Path) -> None:
    for name in ("report.html", ".notes", "export"):
        (folder / name).write_text("")
    (folder / "figures").mkdir()
    assert check_run(folder, thorough=True).damage == ()


def test_a_killed_run_is_checked_up_to_its_last_checkpoint(folder: Path) -> None:
    (folder / SUMMARY_FILE).unlink()
    verdict = check_run(folder, thorough=True)
    assert (verdict.damage, verdict.rounds, verdict.summary) == ((), 2, None)
    (folder / ENVIRONMENT_FILE).unlink()
    assert files(check_run(folder).damage) == [ENVIRONMENT_FILE]


def test_a_run_without_a_checkpoint_has_nothing_but_its_form(folder: Path) -> None:
    unfinish(folder)
    text = (folder / SPEC_FILE).read_text()
    (folder / SPEC_FILE).write_text(text.replace("lr: 0.1", "lr: 0.2"))
    verdict = check_run(folder, thorough=True)
    assert (verdict.damage, verdict.rounds) == ((), None)
    (folder / ENVIRONMENT_FILE).write_text("{}")
    with (folder / RECORDS_FILE).open("a") as file:
        file.write("{}\n")
    assert files(check_run(folder).damage) == [ENVIRONMENT_FILE]
    assert files(check_run(folder, thorough=True).damage) == [ENVIRONMENT_FILE, RECORDS_FILE]


def test_only_a_thorough_check_reads_checkpoints_of_a_complete_run(folder: Path) -> None:
    path = checkpoint_paths(folder)[-1]
    path.write_text("{}")
    assert check_run(folder).damage == ()
    assert files(check_run(folder, thorough=True).damage) == ["checkpoints/round-000002.json"]


def test_a_file_is_named_once(folder: Path) -> None:
    (folder / SPEC_FILE).write_text("rounds: [")
    (folder / RECORDS_FILE).write_text("")
    verdict = check_run(folder, thorough=True)
    assert verdict.spec is None
    assert files(verdict.damage) == [SPEC_FILE, RECORDS_FILE]


def test_a_summary_cannot_get_rid_of_its_checksums(folder: Path) -> None:
    path = folder / SUMMARY_FILE
    plain = json.loads(path.read_text())
    path.write_text(json.dumps({key: plain[key] for key in plain if key not in ("files", "sha256")}))
    verdict = check_run(folder)
    assert verdict.summary is None
    assert files(verdict.damage) == [SUMMARY_FILE]


def test_a_file_that_the_summary_does_not_list(folder: Path) -> None:
    model = (folder / MODEL_FILE).read_bytes()
    (folder / MODEL_FILE).unlink()
    reseal(folder)
    (folder / MODEL_FILE).write_bytes(model)
    assert files(check_run(folder).damage) == [MODEL_FILE]


def test_no_run(tmp_path: Path) -> None:
    (tmp_path / SPEC_FILE).touch()
    with pytest.raises(StoreError, match="not a run folder"):
        check_run(tmp_path)


@pytest.mark.parametrize("thorough", [False, True])
def test_a_run_of_another_format(folder: Path, thorough: bool) -> None:
    other_format(folder)
    with pytest.raises(FormatError, match=r"records.jsonl has format 2, but fedradio .* reads 3; use fedradio 0\.1"):
        check_run(folder, thorough=thorough)


def test_records_without_a_header_are_damaged(folder: Path) -> None:
    path = folder / RECORDS_FILE
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    reseal(folder)
    unfinish(folder)
    assert [(each.file, each.reason) for each in check_run(folder, thorough=True).damage][-1:] == [
        (RECORDS_FILE, "line 1: not a header")
    ]
