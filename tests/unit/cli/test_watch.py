"""``fedradio watch``, ``run --watch`` and ``sweep --watch``."""

import signal
import time
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


def test_a_sweep_serves_its_page_while_it_runs(source: Path, tmp_path: Path) -> None:
    words = ("sweep", str(source), "--seeds", "4", "--watch", "--out", "sweep", "--rounds", "150")
    process = start(tmp_path, *words, "--jobs", "1")
    assert process.stderr is not None
    url = next(line for line in process.stderr if "live page: " in line).split()[-1]
    texts = []
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                texts.append(answer.read().decode())
        except OSError:
            break
        time.sleep(0.1)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert any("of 4 runs have ended" in text and "4 of 4" not in text for text in texts)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)


def test_an_array_has_nothing_to_watch_here(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("sweep", source, "--on", "slurm", "--watch", "--out", tmp_path / "sweep") == 2
    assert "fedradio watch" in capsys.readouterr().err
    assert not (tmp_path / "sweep").exists()
