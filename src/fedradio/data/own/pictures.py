"""Source of images in folders, one folder per class, read by Pillow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Samples
from fedradio.core.datasets import picture_array
from fedradio.core.errors import DataError, Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import unreadable
from fedradio.data.own.tables import TEST_FRACTION, samples_of

FORMATS = {"PNG": (".png",), "JPEG": (".jpg", ".jpeg"), "BMP": (".bmp",), "GIF": (".gif",), "WEBP": (".webp",)}
"""Formats of pictures, and how their files end; other files are left out."""

ENDINGS = tuple(ending for endings in FORMATS.values() for ending in endings)
MOST_PIXELS = 100_000_000

Floats = NDArray[np.float32]
Colour = Literal["rgb", "grey"]
Size = tuple[int, int]


@register("source", "image_folder")
def image_folder(
    clients: int,
    rng: Rng,
    /,
    *,
    path: Annotated[str, Arg("folder that contains one folder of images per class", file=True)],
    size: Annotated[
        Size | None, Arg("height and width to resize to; null: keep the size", unit="pixels", ge=1, le=4096)
    ] = (None),
    colour: Annotated[Colour, Arg("colour with three channels, or greyscale with one")] = "rgb",
    test_path: Annotated[str | None, Arg("folder of the test set, with the same classes", file=True)] = None,
    test_fraction: Annotated[float, TEST_FRACTION] = 0.2,
    standardise: Annotated[
        bool, Arg("scale every channel to mean 0 and standard deviation 1 on the training set")
    ] = True,
) -> Samples:
    """Your own images: one folder per class; classes are numbered in the order of their sorted names.

    PNG, JPEG, BMP, GIF and WebP files are read in the order of their names; other files are ignored. The test set is
    drawn from the seed, class by class, unless it has its own folder.
    """
    x, y, names = _pictures(path, "source.path", size, colour)
    parts: dict[str, Any] = {"x": x, "y": y}
    if test_path is not None:
        test_x, test_y, others = _pictures(test_path, "source.test_path", size, colour)
        if others != names:
            odd = sorted(set(others) ^ set(names))
            reason = f"{test_path} and {path} do not have the same classes"
            raise SpecError(Problem("source.test_path", reason, f"only one of them has {odd[0]}"))
        parts |= {"test_x": test_x, "test_y": test_y}
    options = {"test_fraction": test_fraction, "standardise": standardise, "sample_bits": 8.0 * x[0].size}
    return samples_of(parts, path, None, rng, **options)


def _pictures(path: str, where: str, size: Size | None, colour: Colour) -> tuple[Floats, list[str], list[str]]:
    """Pictures ``[n, channels, height, width]`` from 0 to 1, the class of each, and all classes."""
    pictures: list[Floats] = []
    labels: list[str] = []
    first: Path | None = None
    classes = _classes(path, where)
    for name, files in classes.items():
        for file in files:
            picture = _picture(file, size, colour)
            if pictures and picture.shape != pictures[0].shape:
                shapes = [f"{shape[2]}x{shape[1]}" for shape in (picture.shape, pictures[0].shape)]
                reason = f"{file} has {shapes[0]} pixels, but {first} has {shapes[1]}"
                raise SpecError(Problem(where, reason, "set data.source.size=[HEIGHT, WIDTH] to resize them all"))
            first = first or file
            pictures.append(picture)
            labels.append(name)
    return np.stack(pictures), labels, list(classes)


def _classes(path: str, where: str) -> dict[str, list[Path]]:
    """Files of pictures by class, in order; hidden folders and files are left out."""
    try:
        folders = sorted(each for each in Path(path).iterdir() if each.is_dir() and not each.name.startswith("."))
        classes = {
            folder.name: sorted(
                file
                for file in folder.iterdir()
                if file.suffix.lower() in ENDINGS and file.is_file() and not file.name.startswith(".")
            )
            for folder in folders
        }
    except (OSError, ValueError) as error:
        raise unreadable(path, where, error) from None
    if len(classes) < 2:
        reason = f"{path} has {len(classes)} folder(s): one folder per class is needed, at least two"
        raise SpecError(Problem(where, reason, "PATH/CLASS/PICTURE.png"))
    empty = next((name for name, files in classes.items() if not files), None)
    if empty is not None:
        reason = f"no images in {Path(path) / empty}"
        raise SpecError(Problem(where, reason, f"use files that end with {', '.join(ENDINGS)}"))
    return classes


def _picture(file: Path, size: Size | None, colour: Colour) -> Floats:
    from PIL import Image

    try:
        with Image.open(file, formats=list(FORMATS)) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise DataError(
                    f"{file} has {opened.width}x{opened.height} pixels, but at most {MOST_PIXELS} are allowed"
                )
            picture = opened.convert("RGB" if colour == "rgb" else "L")
    except DataError:
        raise
    except Exception as error:  # pillow raises errors of many kinds for damaged files
        raise DataError(f"{file} cannot be read as an image ({type(error).__name__}: {error})") from None
    if size is not None:
        picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return picture_array(picture)
