"""``fedradio report``: where the page goes, and what is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.batches import sweep_here
from typer.testing import CliRunner

from fedradio.cli import app
from fedradio.cli import report as reporting_module
from fedradio.core.errors import SpecError, StoreError
from fedradio.report.page import page
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


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


def links(text: str) -> list[str]:
    """Links of a page to other pages."""
    return re.findall(r'href="([^"#]*\.html)"', text)


def test_pages_of_the_runs_of_a_sweep(
    tmp_path: Path, cells: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_here(monkeypatch)
    (tmp_path / "small spec.yaml").write_text(cells("rounds=1").yaml())
    plan = plan_sweep(tmp_path / "small spec.yaml", ["rule.lr=0.1,0.3"], seeds=[1])
    folder = run_sweep(plan, tmp_path / "a sweep #1").folder
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert links((folder / "report.html").read_text(encoding="utf-8")) == []  # no run has a page
    (tmp_path / "pages").mkdir()
    for target in (folder / "report.html", tmp_path / "pages" / "all.html"):
        assert CliRunner().invoke(app, ["report", str(folder), "--runs", "--out", str(target)]).exit_code == 0
        found = links(target.read_text(encoding="utf-8"))
        assert len(found) == 2
        for link in found:
            file = target.parent / unquote(link)
            assert not Path(unquote(link)).is_absolute()
            assert file.read_text(encoding="utf-8") == page(file.parent)


def test_the_pages_of_runs_are_those_of_a_sweep(made: Path) -> None:
    refused = CliRunner().invoke(app, ["report", str(made), "--runs"]).exception
    assert isinstance(refused, SpecError)
    assert "this folder is not a sweep" in str(refused)


def test_what_is_no_run_is_refused(tmp_path: Path, made: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        page(tmp_path)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert getattr(shown.exception, "exit_code", None) == 5
    before = (made / "records.jsonl").read_bytes()
    shown = CliRunner().invoke(app, ["report", str(made), "--out", str(made / "records.jsonl")])
    assert getattr(shown.exception, "exit_code", None) == 2
    assert (made / "records.jsonl").read_bytes() == before
