"""``fedradio report``: where the page goes, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedradio.cli import app
from fedradio.cli import report as reporting_module
from fedradio.core.errors import StoreError
from fedradio.report.page import page
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


@pytest.fixture
def made(tmp_path: Path, cells: Callable[..., Spec]) -> Path:
    """A run with edges, seconds and joules in which clients are sampled."""
    folder = tmp_path / "cells-run"
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: 2}", "data.test=client"), folder)
    return folder


def test_the_command_writes_the_page_into_the_folder(made: Path) -> None:
    shown = CliRunner().invoke(app, ["report", str(made)])
    assert shown.exit_code == 0
    assert "report.html" in shown.output.replace("\n", "")
    assert "MB" in shown.output
    assert (made / "report.html").read_text(encoding="utf-8") == page(made)


def test_the_command_opens_a_browser_when_asked(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(reporting_module.webbrowser, "open", opened.append)
    target = tmp_path / "elsewhere.html"
    shown = CliRunner().invoke(app, ["report", str(made), "--out", str(target), "--open", "--quiet"])
    assert shown.exit_code == 0
    assert shown.output.strip().replace("\n", "") == str(target)
    assert opened == [target.as_uri()]


def test_what_is_no_run_is_refused(tmp_path: Path, made: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        page(tmp_path)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert getattr(shown.exception, "exit_code", None) == 5
    before = (made / "records.jsonl").read_bytes()
    shown = CliRunner().invoke(app, ["report", str(made), "--out", str(made / "records.jsonl")])
    assert getattr(shown.exception, "exit_code", None) == 2
    assert (made / "records.jsonl").read_bytes() == before
