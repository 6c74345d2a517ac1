"""``fedradio report``: where the page goes, and what is refused."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.batches import sweep_here
from support.commands import exit_code
from support.pages import Outline, words_of
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


def period(file: Path) -> list[str | None]:
    """The period in seconds at which a page reloads itself; empty if it does not."""
    found = Outline(file.read_text(encoding="utf-8")).names("meta")
    return [one["content"] for one in found if one.get("http-equiv") == "refresh"]


def test_a_page_is_rewritten_until_the_run_is_complete(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At first the run has no round, and is killed; then it ends. Another one is stopped with Ctrl-C."""
    whole = {name: (made / name).read_bytes() for name in ("records.jsonl", "summary.json")}
    shutil.rmtree(made / "checkpoints")
    (made / "summary.json").unlink()
    (made / "records.jsonl").write_bytes(whole["records.jsonl"].splitlines(True)[0])
    opened: list[str] = []
    periods: list[list[str | None]] = []

    def end(seconds: float) -> None:
        periods.append(period(made / "report.html"))
        assert "No edge round is on record" in words_of((made / "report.html").read_text(encoding="utf-8"))
        for name, data in whole.items():
            (made / name).write_bytes(data)

    monkeypatch.setattr(reporting_module.webbrowser, "open", opened.append)
    monkeypatch.setattr("fedradio.cli.report.sleep", end)
    assert exit_code("report", made, "--every", "5", "--open") == 0
    assert periods == [["5"]]
    assert (made / "report.html").read_text(encoding="utf-8") == page(made)
    assert opened == [(made / "report.html").as_uri()]
    told = capsys.readouterr()
    assert told.out.count("report.html") == 1


def test_ctrl_c_ends_with_130_and_a_whole_page(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ctrl_c(_: float) -> None:
        assert period(made / "report.html") == ["5"]
        raise KeyboardInterrupt

    (made / "summary.json").unlink()
    monkeypatch.setattr("fedradio.cli.report.sleep", ctrl_c)
    assert exit_code("report", made, "--every", "5", "--quiet") == 130
    assert (made / "report.html").read_text(encoding="utf-8") == page(made)


@pytest.mark.parametrize("seconds", ["0", "-1", "3601", "1.5", "soon"])
def test_a_wrong_period_is_refused(made: Path, seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("report", made, f"--every={seconds}") == 2
    told = capsys.readouterr().err
    assert "--every" in told
    assert seconds in told
    assert not (made / "report.html").exists()


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
