"""The store of fetched data sets: interruptions, damage, where it is and what it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.image_files import is_stored, write_idx

from fedradio.core.errors import DataError
from fedradio.data import cache as store
from fedradio.data import download as fetching
from fedradio.data.catalog import CATALOG, Arrays
from fedradio.data.download import fetch


@pytest.mark.parametrize("stop_at", range(5))
def test_interruption_leaves_nothing_half(
    tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    """Stopped while any of the five files is being written: absent, no half file, and the next call succeeds."""
    write_idx(tmp_path / "raw", tiny_mnist)
    written = []

    def stop(number: int) -> None:
        written.append(number)
        if len(written) == stop_at + 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", stop)
        with pytest.raises(KeyboardInterrupt):
            fetch("mnist", tmp_path / "raw")
    assert store.status(CATALOG["mnist"]) == "absent"
    assert not list(store.path("mnist").glob("*.tmp"))
    assert not list(store.path("mnist").glob(".*"))
    with pytest.raises(DataError, match="fedradio data fetch mnist"):
        store.load("mnist")
    fetch("mnist", tmp_path / "raw")
    assert is_stored("mnist", tiny_mnist)


def test_a_killed_process_is_cleaned_up_after(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    folder = store.path("mnist")
    folder.mkdir(parents=True)
    old, new = folder / ".train_x.npy.1.tmp", folder / ".train_x.npy.2.tmp"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    fetch("mnist", tmp_path / "raw")
    assert not old.exists()
    assert new.exists()  # may belong to another process at work


@pytest.mark.parametrize("what", ["flip", "cut", "gone", "manifest"])
def test_damage_is_found_and_repaired(tmp_path: Path, tiny_mnist: Arrays, what: str) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    folder = fetch("mnist", tmp_path / "raw")
    file = folder / "train_x.npy"
    raw = bytearray(file.read_bytes())
    if what == "flip":
        raw[-1] ^= 1
        file.write_bytes(raw)
    elif what == "cut":
        file.write_bytes(raw[:-5])
    elif what == "gone":
        file.unlink()
    else:
        (folder / store.MANIFEST).write_text("{")
    if what == "manifest":
        assert fetch("mnist") == folder  # the arrays are whole, so only the manifest is written anew
    else:
        with pytest.raises(DataError, match="damaged; run `fedradio data fetch mnist`"):
            store.load("mnist")
        fetch("mnist", tmp_path / "raw")
    assert store.status(CATALOG["mnist"]) == "fetched"
    assert is_stored("mnist", tiny_mnist)


def test_ls_and_path(tmp_path: Path, tiny_mnist: Arrays) -> None:
    assert {entry.name: entry.status for entry in store.ls()} == {
        "digits": "embedded",
        "mnist": "absent",
        "fashion_mnist": "absent",
        "cifar10": "absent",
        "cifar100": "absent",
    }
    write_idx(tmp_path / "raw", tiny_mnist)
    fetch("mnist", tmp_path / "raw")
    entry = next(entry for entry in fetching.ls() if entry.name == "mnist")
    assert (entry.status, entry.samples, entry.shape) == ("fetched", "10 + 4", "1x28x28")
    assert entry.origin == str(tmp_path / "raw")
    assert entry.path == fetching.path("mnist") == tmp_path / "home" / "data" / "mnist"
    assert all(entry.licence and entry.nbytes > 0 for entry in store.ls())


def test_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FEDRADIO_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.home() == tmp_path / "fedradio" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store.home() == Path.home() / ".cache" / "fedradio" / "data"
