"""Folders in which no run can be made are refused before anything slow begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.runs import run as module
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE
from fedradio.runs.place import check_new_place, check_place
from fedradio.spec.spec import Spec


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A run folder, a folder of something else, a file, and links."""
    (tmp_path / "run").mkdir()
    for name in (SPEC_FILE, RECORDS_FILE):
        (tmp_path / "run" / name).touch()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / SPEC_FILE).touch()
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "shortcut").symlink_to(tmp_path / "run")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("file", "is a file, but a folder is needed"),
        ("file/below", "Not a directory"),
        ("nowhere", "is a broken link"),
        ("circle/below", "Too many levels"),
        ("x" * 5000, "File name too long"),
        ("/".join(["y" * 200] * 25), "File name too long"),
        ("run/inner", "is inside the run folder"),
        ("run/checkpoints/very/deep", "is inside the run folder"),
        ("shortcut/inner", "is inside the run folder"),
        ("half/../run/inner", "is inside the run folder"),
    ],
)
def test_places_without_a_folder_or_inside_a_run(name: str, words: str, here: Path) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        check_place(here / name)
    assert "choose another --out" in str(caught.value)
    assert len(str(caught.value)) < 800


def test_places_that_will_do(here: Path) -> None:
    for name in ("new", "a/b/c", "half/inner", "run", "."):
        check_place(here / name)
    check_new_place(here / "new")
    (here / "locked").mkdir()
    (here / "locked" / ".lock").touch()
    check_new_place(here / "locked")


def test_a_new_run_needs_an_empty_folder(here: Path) -> None:
    for name in ("run", "half", "."):
        with pytest.raises(StoreError, match="is not empty"):
            check_new_place(here / name)


def test_a_folder_that_may_not_be_written(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != here)
    for name in ("new", "a/b/c"):
        with pytest.raises(StoreError, match="is not writable"):
            check_place(here / name)
    check_place(here / "half")


def test_nothing_is_built_for_a_run_that_has_no_place(
    here: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "build", lambda *_: pytest.fail("it was built"))
    for name in ("run", "file", "run/inner"):
        with pytest.raises(StoreError):
            module.run(tiny(), here / name)
    assert not (here / "run" / "inner").exists()
