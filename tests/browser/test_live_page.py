"""The live page in a real browser: new points appear while a run goes on, and it survives the end of run and server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from support.processes import rounds_in, wait_for

from fedradio.report.live.server import LiveServer
from fedradio.runs.resume import resume
from fedradio.runs.run import run
from fedradio.spec.spec import load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep

SLOW = """
import sys, time
from fedradio import Observer, load_spec, run

class Slow(Observer):
    def advanced(self, state, record):
        time.sleep(0.3)

run(load_spec("demo", ["rounds=400"]), sys.argv[1], observer=Slow())
"""

POINTS = "() => document.getElementById('accuracy-chart').data?.[0]?.x.length ?? 0"


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process that makes about three rounds a second, and its run folder."""
    folder = tmp_path / "slow run"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(folder)])
    wait_for(lambda: rounds_in(folder) > 0)
    yield process, folder
    process.kill()
    process.wait()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and all that it complains of."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    yield page, wrong
    context.close()


def test_points_appear_and_the_reader_keeps_their_place(
    under_way: tuple[subprocess.Popen[bytes], Path], visitor: tuple[Page, list[str]]
) -> None:
    (process, folder), (page, wrong) = under_way, visitor
    server = LiveServer(folder, port=None)
    page.goto(server.url)
    page.locator("#accuracy-chart .main-svg").first.wait_for()
    page.evaluate("() => { window.reloaded = false; document.querySelector('details').open = true; }")
    page.locator("#against-2").check()
    page.locator("#against-2").focus()
    before = page.evaluate(POINTS)
    page.wait_for_function(f"(before) => ({POINTS})() >= before + 3", arg=before)
    assert page.evaluate("window.reloaded") is False
    assert page.evaluate("document.querySelector('details').open")
    assert page.locator("#against-2").is_checked()
    assert page.evaluate("document.activeElement.id") == "against-2"
    assert page.evaluate("document.getElementById('accuracy-chart').layout.xaxis.title.text") == "Energy [J]"
    assert page.locator("#live").get_attribute("data-state") == "running"
    assert not page.get_by_text("fedradio resume").first.is_visible()  # nothing to resume yet
    process.kill()  # the crash
    process.wait()
    page.locator("#live[data-state=gone]").wait_for()
    assert "unfinished" in page.locator(".badge").first.inner_text()
    assert page.get_by_text("fedradio resume").first.is_visible()
    assert page.evaluate(POINTS) == min(rounds_in(folder), 600)
    done = rounds_in(folder)
    resume(folder, rounds=done + 3)  # the end
    page.locator("#live[data-state=ended]").wait_for()
    page.wait_for_function(f"(done) => ({POINTS})() === done", arg=done + 3)
    assert "complete" in page.locator(".badge").first.inner_text()
    server.close()
    page.wait_for_function("() => document.getElementById('live').textContent.includes('no longer updated')")
    page.locator("#learning-view-0").check()  # what is there stays of use
    page.wait_for_function("document.getElementById('accuracy-chart').layout.xaxis.title.text === 'Rounds'")
    assert wrong == []


def test_a_page_that_is_open_before_the_run_begins(tmp_path: Path, visitor: tuple[Page, list[str]]) -> None:
    page, wrong = visitor
    folder = tmp_path / "later"
    server = LiveServer(folder)
    page.goto(server.url)
    assert "has not started yet" in page.locator("#live").inner_text()
    run(load_spec("demo", ["rounds=2"]), folder)
    page.locator("#live[data-state=ended]").wait_for()
    page.locator("#accuracy-chart .main-svg").first.wait_for()
    server.close()
    assert wrong == []


def test_a_sweep_fills_up(tmp_path: Path, visitor: tuple[Page, list[str]], at_once: list[str]) -> None:
    page, wrong = visitor
    folder = tmp_path / "sweep"
    run_sweep(plan_sweep("demo", ["algorithm=fedavg,fedprox"], seeds=[1], rounds=2), folder)
    server = LiveServer(folder)
    page.goto(server.url)
    page.get_by_text("2 of 2 runs have ended").wait_for()
    run_sweep(plan_sweep("demo", ["algorithm=fedavg,fedprox"], seeds=[1, 2], rounds=2), folder)
    page.get_by_text("4 of 4 runs have ended").wait_for()
    assert page.locator("#results td", has_text="2/2").count() == 2
    server.close()
    assert wrong == []
