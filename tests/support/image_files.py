"""Small image sets in the file formats of the real ones, so that tests exercise the real loading code."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from fedradio.data import cache
from fedradio.data.catalog import CATALOG, IDX_FILES, Arrays, DataSet


def tiny_arrays(dataset: DataSet, train: int, test: int, seed: int = 7) -> Arrays:
    """Random images of the data set's shape with random labels, of a hundred classes with one after the other."""
    random = np.random.default_rng(seed)

    def images(n: int) -> np.ndarray:
        return random.integers(0, 256, (n, *dataset.shape), dtype=np.uint8)

    def labels(n: int) -> np.ndarray:
        if dataset.classes > 10:  # every label in turn: some tests want an image of each
            return (np.arange(n) % dataset.classes).astype(np.uint8)
        return random.integers(0, 10, n, dtype=np.uint8)

    return Arrays(images(train), labels(train), images(test), labels(test))


def shrunk(name: str, arrays: Arrays, **changes: object) -> DataSet:
    """The catalogue's data set, had it been these arrays; without any package or download."""
    digests: dict[str, object] = {"sha256": tuple(hashlib.sha256(a.tobytes()).hexdigest() for _, a in arrays.items())}
    if CATALOG[name].layout == "cifar100":
        files = cifar100_files(arrays)
        digests = {"file_sha256": tuple((file, hashlib.sha256(raw).hexdigest()) for file, raw in files.items())}
    sizes = {"train": len(arrays.train_y), "test": len(arrays.test_y)}
    return replace(CATALOG[name], **(digests | {"npm": "", "debian": "", "urls": ()} | sizes | changes))


def idx(array: np.ndarray) -> bytes:
    """An array of bytes in the IDX format."""
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def write_idx(folder: Path, arrays: Arrays, *, packed: bool = False) -> None:
    """The four files of MNIST or Fashion-MNIST, plain or compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, array) in zip(IDX_FILES, arrays.items(), strict=True):
        raw = idx(array[:, 0] if array.ndim == 4 else array)
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(raw) if packed else raw)


def cifar_files(arrays: Arrays, layout: str) -> dict[str, bytes]:
    """Five training batches and a test batch, as the binary version or as PNG sprites."""
    x = [*np.split(arrays.train_x, 5), arrays.test_x]
    y = [*np.split(arrays.train_y, 5), arrays.test_y]
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    if layout == "binary":
        return {
            f"{name}.bin": np.concatenate([b[:, None], a.reshape(len(a), -1)], axis=1).tobytes()
            for name, a, b in zip(names, x, y, strict=True)
        }
    files = {"train_lables.json": arrays.train_y, "test_lables.json": arrays.test_y}
    content = {name: json.dumps(labels.tolist()).encode() for name, labels in files.items()}
    for name, a in zip(names, x, strict=True):
        file = BytesIO()
        Image.fromarray(a.reshape(len(a), 3, -1).transpose(0, 2, 1).copy()).save(file, "PNG")
        content[f"{name}.png"] = file.getvalue()
    return content


def cifar100_files(arrays: Arrays) -> dict[str, bytes]:
    """The two files of CIFAR-100's binary version; the coarse label is the fine one over five."""
    parts = {"train.bin": (arrays.train_x, arrays.train_y), "test.bin": (arrays.test_x, arrays.test_y)}
    return {
        name: np.concatenate([y[:, None] // 5, y[:, None], x.reshape(len(x), -1)], axis=1).tobytes()
        for name, (x, y) in parts.items()
    }


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Named contents as files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def write_tar(path: Path, files: Mapping[str, bytes], top: str) -> None:
    """Named contents as files of a folder in a compressed archive."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


def is_stored(name: str, arrays: Arrays) -> bool:
    """Whether the store holds exactly these arrays as the data set."""
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(cache.load(name).items(), arrays.items(), strict=True))


def stand_in(name: str, raw: Path, train: int = 200, test: int = 40) -> DataSet:
    """A small image set in the place of a real one: its files in ``raw``, its entry for the catalogue returned."""
    arrays = tiny_arrays(CATALOG[name], train, test)
    if CATALOG[name].layout == "idx":
        write_idx(raw, arrays)
    elif CATALOG[name].layout == "cifar100":
        write_files(raw, cifar100_files(arrays))
    else:
        write_files(raw, cifar_files(arrays, "binary"))
    return shrunk(name, arrays)
