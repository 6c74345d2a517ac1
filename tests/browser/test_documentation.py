"""The documentation in a real browser: pages of a bearable height, equations, both modes, search, a phone."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}

HIGHEST = 8000
"""Pixels of the highest page at desk size."""

MEASURE = r"""() => {
  const article = document.querySelector("article").cloneNode(true);
  article.querySelectorAll("code, pre, math").forEach((node) => node.remove());
  const flat = (node) => { const box = node.getBoundingClientRect(); return box.width < 1 || box.height < 1; };
  const shown = [...document.querySelectorAll("math")].filter((node) => !node.closest("details:not([open])"));
  return {
    height: document.documentElement.scrollHeight,
    equations: shown.length,
    flat: shown.filter(flat).length,
    raw: article.textContent.match(/\$\$|\\[a-zA-Z([]+/g) ?? [],
    lost: [...document.images].filter((one) => one.complete && one.naturalWidth === 0).map((one) => one.src),
  };
}"""

WIDTHS = r"""() => {
  document.querySelectorAll("details").forEach((node) => { node.open = true; });
  return document.documentElement.scrollWidth;
}"""


class Server(ThreadingHTTPServer):
    """Many connections can wait: a browser opens several for a page, and on a busy machine five are not enough."""

    request_queue_size = 128


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and does not print requests."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """The address of the built documentation, and its pages."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
    with Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", pages
        server.shutdown()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport=DESK, color_scheme="light")
    found.set_default_timeout(1e3 * PATIENCE_S)
    yield found
    found.close()


@dataclass
class Looked:
    """What is wrong with pages, by kind."""

    high: dict[str, int] = field(default_factory=dict)
    wide: dict[str, int] = field(default_factory=dict)
    raw: dict[str, list[str]] = field(default_factory=dict)
    lost: dict[str, list[str]] = field(default_factory=dict)
    flat: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    equations: int = 0

    def add(self, name: str, found: dict[str, Any], width: int) -> None:
        """Keep what is wrong with a page."""
        self.equations += found["equations"]
        wrong = {
            "high": found["height"] if found["height"] > HIGHEST else 0,
            "wide": width if width > PHONE["width"] else 0,
            "raw": found["raw"],
            "lost": found["lost"],
            "flat": found["flat"],
        }
        for kind, what in wrong.items():
            if what:
                getattr(self, kind)[name] = what


@pytest.fixture(scope="module")
def looked(browser: Browser, site: tuple[str, list[str]]) -> Looked:
    """Every page, at desk size and then at the size of a phone with all folds open."""
    address, pages = site
    context = browser.new_context(viewport=DESK, color_scheme="light")
    context.set_default_timeout(1e3 * PATIENCE_S)
    page, found = context.new_page(), Looked()
    page.on("pageerror", lambda error: found.said.append(f"{page.url}: {error}"))
    page.on("console", lambda message: found.said.append(f"{page.url}: {message.text}"))
    for name in pages:
        page.set_viewport_size(DESK)
        page.goto(address + name, wait_until="load")
        measured = page.evaluate(MEASURE)
        page.set_viewport_size(PHONE)
        found.add(name, measured, page.evaluate(WIDTHS))
    context.close()
    return found


def test_no_page_is_higher_than_the_bound(looked: Looked) -> None:
    assert looked.high == {}


def test_equations_are_typeset(looked: Looked) -> None:
    assert looked.equations > 200
    assert looked.flat == {}
    assert looked.raw == {}


def test_no_page_complains_or_lacks_a_picture(looked: Looked) -> None:
    assert looked.said == []
    assert looked.lost == {}


def test_no_page_is_wider_than_a_phone(looked: Looked) -> None:
    assert looked.wide == {}


def test_search_finds_a_part(site: tuple[str, list[str]], context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(site[0] + "index.html")
    page.locator("[data-md-component=search-query]").fill("scaffold")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert "scaffold" in first.inner_text().lower()


def test_modes_follow_the_system_and_the_button(site: tuple[str, list[str]], context: BrowserContext) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme="dark")
    page.goto(site[0] + "concepts.html")
    assert _background(page) < 100
    page.locator("label[title='Switch to light mode']").click()
    page.wait_for_function("() => document.body.dataset.mdColorScheme === 'default'")
    assert _background(page) > 200


def _background(page: Page) -> int:
    """Brightness of the page's paper, from 0 to 255."""
    return int(page.evaluate("() => Math.min(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g))"))
