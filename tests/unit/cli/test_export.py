"""``fedradio export``."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Call, exit_code

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


def test_trackers_say_how_they_are_opened(call: Call, folder: Path, tmp_path: Path) -> None:
    done = call("export", folder, "--to", "tensorboard", "--follow")
    assert done.exit_code == 0
    assert "run: 2 rounds\n" in done.output
    assert f"tensorboard --logdir {folder}/export/tensorboard\n" in done.output
    assert call("export", folder, "--to", "tensorboard", "--out", tmp_path / "logs", "-q").output == ""
    assert (tmp_path / "logs" / "run").is_dir()


def test_tables_are_not_followed(call: Call, folder: Path) -> None:
    done = call("export", folder, "--follow")
    assert "only works with trackers; tables are written once" in str(done.exception)


def test_an_extra_that_is_missing_exits_with_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra in ("tensorboard", "mlflow"):
        monkeypatch.setitem(sys.modules, extra, None)
        assert exit_code("export", folder, "--to", extra) == 2
        assert f"fedradio[{extra}]" in capsys.readouterr().err
