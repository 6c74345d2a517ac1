"""A device's own samples, from its folder: ``train.npz``, ``train.safetensors`` or pictures in ``train/CLASS/``, and
the same named ``test`` where it has a test part. Pickles are never loaded; nothing is scaled."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from fedradio.core.contracts import Samples
from fedradio.core.errors import DataError, SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.npz import npz
from fedradio.data.own.pictures import ENDINGS, FORMATS, Colour, image_folder

Pair = tuple[Tensor, Tensor]

MOST = 1_000_000
"""Most classes: how many there are is the federation's to say, and a device need not have samples of each."""


def read_folder(folder: Path) -> Samples:
    """The samples of a device; raises :class:`DataError` for what no model can learn from."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder with samples")
    train = _read(folder, "train")
    if train is None:
        raise DataError(f"{folder} has no train.npz, no train.safetensors and no folder train/CLASS with images")
    test = _read(folder, "test")
    x, y = train
    test_x, test_y = test or (x[:0], y[:0])
    if test_x.shape[1:] != x.shape[1:]:
        raise DataError(
            f"{folder}: test samples have shape {tuple(test_x.shape[1:])}, but the others {tuple(x.shape[1:])}"
        )
    classes = 1 + max(int(y.max()), int(test_y.max()) if len(test_y) else 0)
    samples = Samples(x, y, test_x, test_y, max(classes, 2), 8.0 * x[0].numel())
    samples.check()
    return samples


def read_test(folder: Path) -> Samples:
    """Test samples of the server: those named ``test`` in a folder, or else those named ``train``."""
    found = None if not folder.is_dir() else _read(folder, "test") or _read(folder, "train")
    if found is None:
        raise DataError(f"{folder} has no test.npz, no test.safetensors and no folder test/CLASS with images")
    x, y = found
    samples = Samples(x, y, x[:0], y[:0], max(int(y.max()) + 1, 2), 8.0 * x[0].numel())
    samples.check()
    return samples


def _read(folder: Path, name: str) -> Pair | None:
    """The samples of one of the files that may hold them; None where there is none."""
    places = {folder / f"{name}.npz": _npz, folder / f"{name}.safetensors": _safetensors, folder / name: _pictures}
    found = [(place, read) for place, read in places.items() if place.exists()]
    if len(found) > 1:
        raise DataError(f"{folder}: {' and '.join(place.name for place, _ in found)} both exist: keep one")
    if not found:
        return None
    place, read = found[0]
    try:
        return read(place)
    except SpecError as error:
        raise DataError("; ".join(problem.reason for problem in error.problems)) from None


def _npz(path: Path) -> Pair:
    samples = npz(1, Rng(0), path=str(path), test_x="", test_y="", test_fraction=0.0, classes=MOST, standardise=False)
    return samples.x, samples.y


def _pictures(path: Path) -> Pair:
    colour: Colour = "grey" if _are_grey(path) else "rgb"
    samples = image_folder(1, Rng(0), path=str(path), colour=colour, test_fraction=0.0, standardise=False)
    return samples.x, samples.y


def _are_grey(path: Path) -> bool:
    """Whether all pictures in a folder of classes are stored in one channel."""
    from PIL import Image, UnidentifiedImageError

    for file in path.glob("*/*"):
        if file.suffix.lower() in ENDINGS and file.is_file() and not file.name.startswith("."):
            try:
                with Image.open(file, formats=list(FORMATS)) as picture:
                    if picture.mode not in ("1", "L"):
                        return False
            except (OSError, UnidentifiedImageError):  # what is wrong with it is told when it is read
                return False
    return True


def _safetensors(path: Path) -> Pair:
    try:
        arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: not a readable safetensors file ({error})") from None
    if missing := [name for name in ("x", "y") if name not in arrays]:
        raise DataError(f"{path}: no array {missing[0]!r}")
    samples = Samples.from_arrays(arrays["x"], arrays["y"], test_fraction=0.0, classes=MOST)
    return samples.x.float(), samples.y.to(torch.long)
