"""``fedradio export``."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Call

from fedradio.runs.run import run
from fedradio.spec.spec import Spec


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Spec]) -> Path:
    run(tiny(), tmp_path / "run")
    return tmp_path / "run"


def test_tables_are_named_with_their_rows(call: Call, folder: Path) -> None:
    done = call("export", folder)
    assert done.exit_code == 0
    assert f"{folder}/export/rounds.csv: 2 rows\n" in done.output
    assert f"{folder}/export/runs.csv: 1 row\n" in done.output


def test_quietly_elsewhere(call: Call, folder: Path, tmp_path: Path) -> None:
    assert call("export", folder, "--out", tmp_path / "tables", "--quiet").output == ""
    assert (tmp_path / "tables" / "rounds.csv").is_file()
    assert not (folder / "export").exists()
