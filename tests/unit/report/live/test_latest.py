"""The latest page: made when something has changed, not more often than it may, and never lost to an error."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.pages import Outline

from fedradio.core.files import locked
from fedradio.report.live import latest as module
from fedradio.report.live.latest import Latest
from fedradio.report.page import page
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Spec]) -> Path:
    run(tiny(), tmp_path / "run")
    return tmp_path / "run"


def grow(folder: Path) -> None:
    """Write the records again: another time, the same content."""
    (folder / "records.jsonl").write_bytes((folder / "records.jsonl").read_bytes())


def test_a_page_is_made_once_for_the_same_files(folder: Path) -> None:
    latest = Latest(folder)
    assert latest.now() is latest.now()
    found = Outline(latest.now().html)
    assert [one["src"] for one in found.names("script") if "src" in one] == ["plotly.js", "page.js", "live.js"]
    assert latest.now().version in set(found.values("data-version"))


def test_while_a_run_goes_on_pages_are_rare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "summary.json").unlink()
    latest = Latest(folder)
    with locked(folder):
        first = latest.now()
        grow(folder)
        assert latest.now() is first  # too early
        monkeypatch.setattr(module, "LEAST_PAUSE_S", 0.0)
        monkeypatch.setattr(module, "PAUSE", 0.0)
        latest = Latest(folder)
        first = latest.now()
        grow(folder)
        assert latest.now().version != first.version
    latest._next = time.monotonic() + 1000  # the end is shown at once
    assert latest.now().html != first.html
    assert 'data-state="gone"' in latest.now().html


def test_who_asks_for_news_waits_for_them(folder: Path) -> None:
    latest = Latest(folder)
    first = latest.now()
    assert latest.after("another", 10) is first
    began = time.monotonic()
    assert latest.after(first.version, 0.3) is first
    assert time.monotonic() - began >= 0.3
    timer = threading.Timer(0.3, grow, [folder])
    timer.start()
    assert latest.after(first.version, 20).version != first.version
    latest.closing = True
    assert latest.after(latest.now().version, 20).version == latest.now().version


def test_what_cannot_be_read_is_told_on_the_page(folder: Path, tmp_path: Path) -> None:
    assert "has not started yet" in Latest(tmp_path / "nothing").now().html
    (folder / "spec.yaml").write_text("name: [")
    assert "Cannot be shown" in Latest(folder).now().html


def test_a_served_sweep_has_no_links_to_files(tmp_path: Path, source: Path, at_once: list[str]) -> None:
    folder = run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1]), tmp_path / "swept").folder
    (folder / "runs" / at_once[0] / "report.html").write_text(page(folder / "runs" / at_once[0]))
    link = f"runs/{at_once[0]}/report.html"
    assert link in set(Outline(page(folder)).values("href"))
    assert link not in set(Outline(Latest(folder).now().html).values("href"))
