"""The page of a run in progress: when it is written, and when that ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import locked
from fedradio.report.page.document import Refresh
from fedradio.report.page.follow import follow
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


class Following:
    """Follows a folder while ``steps`` happen to it, one in every pause; ``pages`` are the states that were written."""

    def __init__(self, folder: Path, *steps: Callable[[], object]) -> None:
        self.pages: list[str | None] = []
        self.notes: list[str] = []
        self.pauses: list[float] = []
        self.folder, self.steps = folder, list(steps)

    def write(self, refresh: Refresh | None) -> None:
        self.pages.append(None if refresh is None else refresh.now.state)
        assert refresh is None or refresh.seconds == 7

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.steps.pop(0)()

    def follow(self) -> Following:
        follow(self.folder, self.write, 7, self.notes.append, self.sleep)
        return self


def nothing() -> None:
    pass


def ctrl_c() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Spec]) -> Path:
    run(tiny(), tmp_path / "run")
    return tmp_path / "run"


def grow(folder: Path) -> None:
    """Another record, which is no record of a round."""
    with (folder / "records.jsonl").open("a") as file:
        file.write("{}\n")


def test_a_complete_run_has_one_page(folder: Path) -> None:
    found = Following(folder).follow()
    assert (found.pages, found.notes, found.pauses) == ([None], [], [])


def test_from_before_the_run_to_its_end(folder: Path) -> None:
    """It does not exist, then makes a record, pauses, is killed, is resumed, and ends."""
    aside = folder.with_name("aside")
    summary = (folder / "summary.json").read_bytes()
    (folder / "summary.json").unlink()
    shutil.move(folder, aside)
    lock = locked(aside)
    lock.__enter__()
    found = Following(
        folder,
        lambda: shutil.move(aside, folder),
        lambda: grow(folder),
        nothing,
        lambda: lock.__exit__(None, None, None),
        nothing,
        lambda: (folder / "summary.json").write_bytes(summary),
    ).follow()
    assert found.pages == ["running", "running", "gone", None]
    assert found.pauses == [7] * 6
    assert len(found.notes) == 3  # waiting, running, gone


def test_ctrl_c_leaves_a_page_that_does_not_reload(folder: Path) -> None:
    (folder / "summary.json").unlink()
    found = Following(folder, nothing, ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        found.follow()
    assert found.pages == ["gone", None]


def test_ctrl_c_before_the_run_writes_nothing(tmp_path: Path) -> None:
    found = Following(tmp_path / "later", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        found.follow()
    assert found.pages == []
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize("name", [".lock", "records.jsonl", "runs"])
def test_a_folder_in_which_a_run_or_sweep_is_about_to_start_is_waited_for(tmp_path: Path, name: str) -> None:
    if name == "runs":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).touch()
    with pytest.raises(KeyboardInterrupt):
        Following(tmp_path, ctrl_c).follow()


def test_where_no_run_can_start_nothing_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for place in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(StoreError, match="not a run folder"):
            Following(place).follow()
