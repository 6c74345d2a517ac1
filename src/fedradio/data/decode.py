"""Decoders of the published files of data sets (IDX, CIFAR). Nothing here executes or unpickles what it reads."""

from __future__ import annotations

import gzip
import io
import json
import math
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image

from fedradio.core.errors import DataError
from fedradio.data.catalog import IDX_FILES, Arrays, Bytes, DataSet

MAX_FILE_BYTES = 160 * 2**20
"""Largest file of any known data set; a larger one is refused before it fills the memory."""

CIFAR_TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))
CIFAR_TEST = "test_batch"
CIFAR100_FILES = ("train.bin", "test.bin")
SPRITE_LABELS = ("train_lables.json", "test_lables.json")  # spelt so in the package

Files = dict[str, bytes]
"""Decompressed contents by file name."""

_BATCHES = (f"{name}{end}" for name in (*CIFAR_TRAIN, CIFAR_TEST) for end in (".bin", ".png"))
_KNOWN = frozenset((*IDX_FILES, *SPRITE_LABELS, *CIFAR100_FILES, *_BATCHES))
_ARCHIVES = (".tar.gz", ".tgz", ".tar")
_BROKEN = (
    *(OSError, EOFError, ValueError, TypeError, OverflowError, SyntaxError),
    *(zlib.error, tarfile.TarError, Image.DecompressionBombError),
)


def places(folder: Path, dataset: DataSet) -> Iterator[Path]:
    """Folders and archives at or below ``folder`` that may hold the files of a data set."""
    if folder.is_file():
        yield folder
        return
    for inner in (folder, *(folder / name for name in dataset.folders)):
        if inner.is_dir():
            yield inner
            yield from sorted(path for path in inner.iterdir() if path.is_file() and path.name.endswith(_ARCHIVES))


def decode(place: Path, dataset: DataSet) -> Arrays | None:
    """Arrays of a data set from a folder or archive; None if its files are not there.

    A :class:`DataError` if they are damaged, or are those of another data set.
    """
    try:
        arrays = _DECODERS[dataset.layout](_read(place), dataset)
    except _BROKEN as error:
        raise DataError(f"{place} cannot be read as {dataset.name} ({type(error).__name__}: {error})") from error
    if arrays is not None and (difference := dataset.difference(arrays)):
        raise DataError(f"{place} is not the official {dataset.name} ({difference})")
    return arrays


def parse_idx(raw: bytes) -> Bytes:
    """Array of an IDX file: two zeros, type 8 (``uint8``), the number of axes, big-endian sizes, the values."""
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise ValueError("not an IDX file of bytes")
    axes = raw[3]
    shape = tuple(int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes))
    if len(raw) != 4 + 4 * axes + math.prod(shape):
        raise ValueError(f"an IDX file of shape {shape} cannot have {len(raw)} bytes")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _idx(files: Files, dataset: DataSet) -> Arrays | None:
    if not all(name in files for name in IDX_FILES):
        return None
    train_x, train_y, test_x, test_y = (parse_idx(files[name]) for name in IDX_FILES)
    return Arrays(train_x.reshape(-1, *dataset.shape), train_y, test_x.reshape(-1, *dataset.shape), test_y)


def _cifar(files: Files, dataset: DataSet) -> Arrays | None:
    batches = (*CIFAR_TRAIN, CIFAR_TEST)
    read: Callable[[Files, DataSet], list[tuple[Bytes, Bytes]]]
    if all(f"{name}.bin" in files for name in batches):
        read = _cifar_binary
    elif all(name in files for name in (*(f"{name}.png" for name in batches), *SPRITE_LABELS)):
        read = _cifar_sprites
    else:
        return None
    *train, test = read(files, dataset)
    return Arrays(np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]), *test)


def _cifar_binary(files: Files, dataset: DataSet) -> list[tuple[Bytes, Bytes]]:
    """Batches of the official binary version: records of a label and the red, green and blue planes."""
    size = 1 + math.prod(dataset.shape)
    batches = []
    for name in (*CIFAR_TRAIN, CIFAR_TEST):
        records = np.frombuffer(files[f"{name}.bin"], np.uint8).reshape(-1, size)
        batches.append((records[:, 1:].reshape(-1, *dataset.shape), records[:, 0].copy()))
    return batches


def _cifar_sprites(files: Files, dataset: DataSet) -> list[tuple[Bytes, Bytes]]:
    """Batches from one PNG each, one image per line (pixel after pixel, red green blue), and labels from JSON lists."""
    channels, height, width = dataset.shape
    train, test = (np.array(json.loads(files[name]), dtype=np.uint8) for name in SPRITE_LABELS)
    batches = []
    for name, labels in zip((*CIFAR_TRAIN, CIFAR_TEST), (*np.split(train, len(CIFAR_TRAIN)), test), strict=True):
        with Image.open(io.BytesIO(files[f"{name}.png"]), formats=["PNG"]) as image:
            if image.size != (height * width, len(labels)):
                raise ValueError(f"{name}.png is {image.size} instead of {(height * width, len(labels))}")
            pixels = np.asarray(image.convert("RGB"), dtype=np.uint8)
        planes = pixels.reshape(-1, height * width, channels).transpose(0, 2, 1)
        batches.append((np.ascontiguousarray(planes).reshape(-1, *dataset.shape), labels))
    return batches


def _cifar100(files: Files, dataset: DataSet) -> Arrays | None:
    """The official binary version of CIFAR-100: records of a coarse label, a fine one, and three planes of colour."""
    if not all(name in files for name in CIFAR100_FILES):
        return None
    if difference := dataset.file_difference(files):
        raise ValueError(difference)
    size = 2 + math.prod(dataset.shape)
    records = [np.frombuffer(files[name], np.uint8).reshape(-1, size) for name in CIFAR100_FILES]
    (train_x, train_y), (test_x, test_y) = (
        (np.ascontiguousarray(each[:, 2:]).reshape(-1, *dataset.shape), each[:, 1].copy()) for each in records
    )
    return Arrays(train_x, train_y, test_x, test_y)


_DECODERS: dict[str, Callable[[Files, DataSet], Arrays | None]] = {
    "idx": _idx,
    "cifar": _cifar,
    "cifar100": _cifar100,
}


def _read(place: Path) -> Files:
    """Files of known names in a folder or archive."""
    files: Files = {}
    if place.is_dir():
        for path in sorted(place.iterdir()):
            if (name := _plain(path.name)) in _KNOWN and path.is_file():
                with path.open("rb") as stream:
                    files[name] = _content(stream, path.name)
    elif place.name.endswith(_ARCHIVES):
        with tarfile.open(place, "r|*") as archive:
            for member in archive:
                base = member.name.rsplit("/", 1)[-1]
                stream_or_none = archive.extractfile(member) if member.isfile() else None
                if (name := _plain(base)) in _KNOWN and stream_or_none is not None:
                    files[name] = _content(stream_or_none, base)
    return files


def _plain(name: str) -> str:
    return name.removesuffix(".gz").replace(".idx", "-idx")


def _content(stream: IO[bytes], name: str) -> bytes:
    source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=stream) if name.endswith(".gz") else stream
    content = source.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"{name} is larger than any file of a known data set")
    return content
