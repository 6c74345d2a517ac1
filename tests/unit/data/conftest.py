"""A store of its own for every test, and the real MNIST where it has been fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.contracts import Samples
from fedradio.core.errors import DataError
from fedradio.core.rng import Rng
from fedradio.data import sources


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Every test has a store of its own, except those that ask for a fetched data set."""
    if "mnist" not in request.fixturenames:
        monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FEDRADIO_DATA", raising=False)


@pytest.fixture
def mnist() -> Samples:
    try:
        return sources.mnist(1, Rng(0))
    except DataError as error:
        pytest.skip(f"needs MNIST: {error}")


@pytest.fixture
def images() -> Callable[..., Samples]:
    """Synthetic samples of 2x2 pixels, so cheap that every test may have its own."""

    def make(n: int, classes: int = 10, seed: int = 0) -> Samples:
        size = {"height": 2, "width": 2, "test_samples": 20}
        return sources.synthetic_images(1, Rng(seed), samples=n, classes=classes, **size)

    return make
