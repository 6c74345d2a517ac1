"""Run folders and sweeps that cannot be written: readers read them, everything else ends with one sentence."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.commands import exit_code
from support.sealing import list_runs

from fedradio.runs.run import run
from fedradio.spec.spec import check_spec

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A sweep with one complete run, where also others than its owner can look."""
    here = Path(tempfile.mkdtemp(prefix="fedradio-read-only-"))
    spec = check_spec({"name": "small", "seed": 1, "rounds": 1, "model": "logistic"})
    run(spec, here / "runs/a-seed1", workers=1)
    list_runs(here, {"one": ("a", spec, [1])})
    yield here
    for path in (here, *here.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(here)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder in which everybody may write."""
    here = Path(tempfile.mkdtemp(prefix="fedradio-elsewhere-"))
    here.chmod(0o777)
    yield here
    shutil.rmtree(here)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nobody may write there, and this process is not the one whom nothing is forbidden."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    almighty = os.geteuid() == 0
    if almighty:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if almighty:
            os.seteuid(0)


def test_one_sentence_each(
    folder: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "")
    one = folder / "runs" / "a-seed1"
    spec = one / "spec.yaml"
    readers = [
        ("verify", folder),
        ("compare", folder),
        ("export", one, "--out", elsewhere / "tables"),
        ("report", one, "--out", elsewhere / "page.html"),
        ("figures", one, "--out", elsewhere / "figures", "--format", "png"),
        ("resume", one),
    ]
    for words in readers:
        assert exit_code(*words) == 0, words  # and all that they import is there
    writers = [
        ("resume", one, "--rounds", "2"),
        ("export", one),
        ("report", one),
        ("figures", one, "--format", "png"),
        ("run", spec, "--out", folder / "new"),
        ("sweep", spec, "--out", folder / "sweep", "-q"),
        ("sweep", spec, "--out", folder, "-q"),
    ]
    shutil.rmtree(elsewhere / "tables")
    shutil.rmtree(elsewhere / "figures")
    (elsewhere / "page.html").unlink()
    before = {path: path.read_bytes() for path in one.rglob("*") if path.is_file()}
    capsys.readouterr()
    with read_only(folder):
        for words in readers[:-1]:
            assert exit_code(*words) == 0, words
        capsys.readouterr()
        for words in writers:
            assert exit_code(*words) == 5, words
            _, told = capsys.readouterr()
            assert (told.count("\n"), "Traceback" in told, str(folder) in told) == (1, False, True), told
    assert {path: path.read_bytes() for path in one.rglob("*") if path.is_file()} == before
