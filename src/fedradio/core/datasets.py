"""Data sets of other libraries as arrays: any object with a length and numbered items, as those of torchvision and of
Hugging Face are. Items are pairs (input, label) or mappings; they are asked for one by one, and nothing is loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.core.arrays import as_array
from fedradio.core.errors import DataError

INPUTS = ("image", "img", "x", "pixel_values", "features", "input", "inputs", "input_ids")
LABELS = ("label", "labels", "y", "target", "fine_label", "class")
"""Keys under which mappings have inputs and labels, the likeliest first."""

Keys = tuple[str, str]


def arrays_of(dataset: Any, name: str, keys: Keys | None) -> tuple[NDArray[Any], list[Any]]:
    """Inputs ``[n, *shape]`` and labels of all items of a data set; ``keys`` of input and label where items are
    mappings, else guessed."""
    if isinstance(dataset, Mapping):
        parts = ", ".join(map(str, list(dataset)[:8]))
        raise DataError(f"{name} is a mapping of parts ({parts}): pass one of them, such as data['train']")
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        reason = f"{name} is {type(dataset).__name__}: an object with a length and numbered items is needed"
        raise DataError(f"{reason}; for a stream, pass a list of its first items")
    if len(dataset) == 0:
        raise DataError(f"{name} has no samples")
    inputs, labels = [], []
    for i in range(len(dataset)):
        x, y = _pair(_item(dataset, i, name), i, name, keys)
        inputs.append(_input(x, f"item {i} of {name}"))
        labels.append(y.item() if hasattr(y, "item") and np.ndim(y) == 0 else y)
        if inputs[-1].shape != inputs[0].shape:
            reason = f"item {i} of {name} has shape {inputs[-1].shape}, item 0 has {inputs[0].shape}"
            raise DataError(f"{reason}: use a transform that gives all of them the same shape")
    return np.stack(inputs), labels


def picture_array(picture: Any, channels: Sequence[str] = ("L", "RGB")) -> NDArray[np.float32]:
    """A picture of pillow as ``[channels, height, width]`` from 0 to 1; modes other than ``channels`` as the last."""
    if picture.mode not in channels:
        picture = picture.convert(channels[-1])
    pixels = np.asarray(picture, dtype=np.float32) / np.float32(255)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _item(dataset: Any, i: int, name: str) -> Any:
    try:
        return dataset[i]
    except Exception as error:  # whatever the other library raises
        raise DataError(f"item {i} of {name} cannot be read ({type(error).__name__}: {error})") from error


def _pair(item: Any, i: int, name: str, keys: Keys | None) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        for key in keys or ():
            if key not in item:
                raise DataError(f"item {i} of {name} has no key {key!r}, only {', '.join(map(str, item))}")
        x, y = keys or (next((key for key in wanted if key in item), None) for wanted in (INPUTS, LABELS))
        if x is None or y is None:
            raise DataError(
                f"items of {name} have the keys {', '.join(map(str, item))}: choose with keys=(input, label)"
            )
        return item[x], item[y]
    if not isinstance(item, tuple | list) or len(item) != 2:
        of = f" of {len(item)}" if isinstance(item, tuple | list) else ""
        raise DataError(f"item {i} of {name} is a {type(item).__name__}{of}: a pair (input, label) is needed")
    return item[0], item[1]


def _input(x: Any, name: str) -> NDArray[Any]:
    if hasattr(x, "getbands") and hasattr(x, "convert"):  # a picture of pillow
        return picture_array(x)
    array = np.asarray(x) if np.ndim(x) == 0 else as_array(x, name)
    if array.ndim == 0:
        raise DataError(f"{name} has the input {x!r:.40}: an array, a tensor or a picture is needed")
    return array
