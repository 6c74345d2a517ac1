"""Run folders: names, files, locks, and nothing that is not ours."""

import json
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE
from fedradio.runs.folder import (
    DAMAGED_FOLDER,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    RunFolder,
    checkpoint_round,
    is_run,
    new_folder,
)
from fedradio.runs.manifest import checksum


def test_new_folders_are_numbered(tmp_path: Path) -> None:
    assert new_folder("x", 1, tmp_path) == tmp_path / "x-seed1"
    (tmp_path / "x-seed1").mkdir()
    assert new_folder("x", 1, tmp_path) == tmp_path / "x-seed1-2"


def test_names_of_checkpoints_are_exact() -> None:
    known = {"round-000012.json": 12, "round-000012.safetensors": 12, "round-1234567.json": 1234567}
    others = (
        "round-12.json",
        "round-0000012.json",
        "round-000012.json.7.tmp",
        "Round-000012.json",
        "round-0000१२.json",
    )
    assert {name: checkpoint_round(name) for name in (*known, *others)} == known | dict.fromkeys(others)


def test_what_a_killed_process_leaves_before_its_spec_is_taken_over(tmp_path: Path) -> None:
    for name in (LOCK_FILE, RECORDS_FILE, ".spec.yaml.123.tmp", ".summary.json.7.tmp"):
        (tmp_path / name).touch()
    with RunFolder(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK_FILE, RECORDS_FILE]


@pytest.mark.parametrize(
    "name", ["notes.txt", ".notes.7.tmp", ".spec.yaml.x.tmp", SPEC_FILE, SUMMARY_FILE, "checkpoints"]
)
def test_anything_else_keeps_a_folder_from_being_taken_over(tmp_path: Path, name: str) -> None:
    (tmp_path / RECORDS_FILE).touch()
    (tmp_path / name).touch()
    with pytest.raises(StoreError, match="is not empty"):
        RunFolder(tmp_path)
    assert not (tmp_path / LOCK_FILE).exists()


def test_records_and_links_keep_a_folder_from_being_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / RECORDS_FILE).write_text("{}\n")
    with pytest.raises(StoreError, match="is not empty"):
        RunFolder(folder)
    (folder / RECORDS_FILE).unlink()
    (tmp_path / "precious").touch()
    for name in (RECORDS_FILE, LOCK_FILE):
        (folder / name).symlink_to(tmp_path / "precious")
        with pytest.raises(StoreError, match="is not empty"):
            RunFolder(folder)
        (folder / name).unlink()


def test_two_of_four_make_a_run(tmp_path: Path) -> None:
    (tmp_path / SPEC_FILE).touch()
    assert not is_run(tmp_path)
    (tmp_path / RECORDS_FILE).symlink_to("nowhere")
    assert is_run(tmp_path)
    (tmp_path / SPEC_FILE).unlink()
    (tmp_path / "checkpoints").mkdir()
    assert is_run(tmp_path)


def test_the_manifest_is_what_was_written_not_what_is_there(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.write("a.json", b"abc")
        folder.write("b.json", b"abc")
        folder.append({"t": 1})
        (tmp_path / "run" / "a.json").write_bytes(b"other")
        folder.remove("b.json")
        folder.remove("never there")
        line = json.dumps({"t": 1}).encode() + b"\n"
        assert folder.manifest() == {"a.json": checksum(b"abc"), RECORDS_FILE: checksum(line)}
        assert not (tmp_path / "run" / "b.json").exists()


def test_damaged_files_are_kept_under_free_names(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.append({"t": 1})
        before = (folder.path / RECORDS_FILE).read_bytes()
        for number in (1, 2):
            folder.write(SUMMARY_FILE, str(number).encode())
            assert folder.set_aside(SUMMARY_FILE) == folder.path / DAMAGED_FOLDER / f"{SUMMARY_FILE}.{number}"
        assert not (folder.path / SUMMARY_FILE).exists()
        assert (folder.path / DAMAGED_FOLDER / f"{SUMMARY_FILE}.1").read_bytes() == b"1"
        copy = folder.set_aside(RECORDS_FILE)  # what comes before a checkpoint is still needed
        assert copy.read_bytes() == (folder.path / RECORDS_FILE).read_bytes() == before
        (folder.path / "link").symlink_to(tmp_path)
        assert folder.set_aside("link").is_symlink()


def test_damaged_files_have_no_place_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with RunFolder(tmp_path / "run") as folder:
        folder.write(SUMMARY_FILE, b"")
        (folder.path / DAMAGED_FOLDER).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="symbolic link"):
            folder.set_aside(SUMMARY_FILE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_records_are_cut_and_go_on(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.append({"t": 1})
        first = folder.offset()
        folder.append({"t": 2})
    (tmp_path / "run" / SPEC_FILE).touch()
    with RunFolder(tmp_path / "run", resumed=True) as folder:
        folder.open_records(first.size)
        assert folder.offset() == first
        folder.append({"t": 3})
        assert folder.offset() == checksum((folder.path / RECORDS_FILE).read_bytes())
    lines = (tmp_path / "run" / RECORDS_FILE).read_text().splitlines()
    assert [json.loads(line)["t"] for line in lines] == [1, 3]


def test_records_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / SPEC_FILE).touch()
    (tmp_path / "run" / RECORDS_FILE).symlink_to(tmp_path / "precious")
    with RunFolder(tmp_path / "run", resumed=True) as folder, pytest.raises(StoreError, match=r"records\.jsonl"):
        folder.open_records()
    assert (tmp_path / "precious").read_text() == "mine"


def test_disk_space_without_checkpoints_that_are_removed(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.write(SUMMARY_FILE, bytes(10))
        (folder.path / "checkpoints").mkdir()
        (folder.path / "checkpoints" / "round-000001.json").write_bytes(bytes(100))
        assert (folder.disk_bytes(), folder.disk_bytes(checkpoints=False)) == (110, 10)
