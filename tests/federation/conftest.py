"""Tests with real federations need Flower; in CI they must not be skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.started import Started

REQUIRED = "FEDRADIO_REQUIRE_EXTRAS"
"""Set in CI: a federation that cannot be tested is a failure."""


@pytest.fixture(autouse=True)
def flower() -> None:
    """Skip without Flower; where it is required, fail."""
    if find_spec("flwr") is None:
        if os.environ.get(REQUIRED):
            pytest.fail("Flower is not installed, and these tests must run")
        pytest.skip("needs pip install 'fedradio[flower]'")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    made = Started(tmp_path)
    yield made
    made.end()
