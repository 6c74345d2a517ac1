"""A store of its own for every test, and images so cheap that every test may have its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.image_files import shrunk, tiny_arrays

from fedradio.core.contracts import Samples
from fedradio.core.rng import Rng
from fedradio.data import sources
from fedradio.data.catalog import CATALOG, Arrays


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a store of its own."""
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FEDRADIO_DATA", raising=False)


@pytest.fixture
def images() -> Callable[..., Samples]:
    """Synthetic samples of 2x2 pixels, so cheap that every test may have its own."""

    def make(n: int, classes: int = 10, seed: int = 0) -> Samples:
        size = {"height": 2, "width": 2, "test_samples": 20}
        return sources.synthetic_images(1, Rng(seed), samples=n, classes=classes, **size)

    return make


@pytest.fixture
def tiny_mnist(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """Ten training and four test images take the place of MNIST in the catalogue."""
    arrays = tiny_arrays(CATALOG["mnist"], 10, 4)
    monkeypatch.setitem(CATALOG, "mnist", shrunk("mnist", arrays))
    return arrays


@pytest.fixture
def tiny_cifar(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """The same for CIFAR-10: five batches of two images and a test batch of two."""
    arrays = tiny_arrays(CATALOG["cifar10"], 10, 2)
    monkeypatch.setitem(CATALOG, "cifar10", shrunk("cifar10", arrays))
    return arrays
