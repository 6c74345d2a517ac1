"""``fedradio watch`` and ``run --watch``."""

import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import exit_code, invoke
from support.processes import start

from fedradio.cli import watch as module
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_it_serves_until_ctrl_c(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "run")
    process = start(tmp_path, "watch", "run")
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with urllib.request.urlopen(url) as answer:
        assert b"The run has ended" in answer.read()
    process.send_signal(signal.SIGINT)
    printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed, told.strip()) == (0, "", "press Ctrl-C to stop")


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("watch", tmp_path) == 5
    assert "neither a run folder nor a sweep folder" in capsys.readouterr().err


def test_the_browser_is_opened_when_asked(
    tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tiny(), tmp_path / "run")
    opened: list[str] = []
    monkeypatch.setattr(module.webbrowser, "open", opened.append)
    shown = invoke("watch", tmp_path / "run", "--open", "--until-eof")
    assert shown.exit_code == 0
    assert opened == [shown.output.strip()]


def test_run_serves_its_page_beside_it(source: Path, tmp_path: Path) -> None:
    shown = invoke("run", source, "--watch", "--out", tmp_path / "run", "--rounds", "1", "-q")
    assert shown.exit_code == 0
    assert "live page: http://127.0.0.1:" in shown.output
    assert (tmp_path / "run" / "summary.json").exists()
