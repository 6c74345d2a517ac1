"""What data sets must be, byte for byte, and by which names they are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.image_files import is_stored, shrunk, tiny_arrays, write_idx

from fedradio.core.errors import DataError
from fedradio.data import cache as store
from fedradio.data import catalog
from fedradio.data.catalog import CATALOG, Arrays
from fedradio.data.download import fetch


def test_two_data_sets_with_the_same_file_names(
    tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MNIST and Fashion-MNIST call their files alike: the digest tells them apart, wherever they lie."""
    clothes = tiny_arrays(CATALOG["fashion_mnist"], 10, 4, seed=8)
    monkeypatch.setitem(catalog.CATALOG, "fashion_mnist", shrunk("fashion_mnist", clothes))
    write_idx(tmp_path / "raw", clothes)
    write_idx(tmp_path / "raw" / "mnist", tiny_mnist)
    fetch("mnist", tmp_path / "raw")
    fetch("fashion_mnist", tmp_path / "raw")
    assert is_stored("mnist", tiny_mnist)
    assert is_stored("fashion_mnist", clothes)


def test_wrong_files_are_refused(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_arrays(CATALOG["mnist"], 10, 4, seed=9))
    with pytest.raises(DataError, match=r"is not the official mnist.*SHA-256"):
        fetch("mnist", tmp_path / "raw")
    assert not store.path("mnist").exists()


@pytest.mark.parametrize("name", ["digits", "imagenet"])
def test_names_that_cannot_be_fetched(name: str) -> None:
    with pytest.raises(DataError, match=name):
        fetch(name)
