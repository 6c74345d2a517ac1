"""A real browser for the tests of pages: Chromium, driven by Playwright, without any network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, sync_playwright
from support.patience import PATIENCE_S

ARGUMENTS = (
    "--no-sandbox",  # in containers the tests run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _without(why: str) -> None:
    """Skip, unless this machine must have a browser."""
    if os.environ.get("FEDRADIO_REQUIRE_BROWSER") == "1":
        pytest.fail(f"a browser is required here: {why}")
    pytest.skip(why)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a module. FEDRADIO_CHROMIUM names another one than that of the system."""
    path = os.environ.get("FEDRADIO_CHROMIUM") or shutil.which("chromium")
    if path is None:
        _without("no chromium on this machine (Debian: apt-get install chromium), and FEDRADIO_CHROMIUM names none")
    with sync_playwright() as driver:
        try:
            found = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS), timeout=1e3 * PATIENCE_S)
        except Error as error:
            _without(f"{path} does not start: {error.message.splitlines()[0]}")
        yield found
        found.close()
