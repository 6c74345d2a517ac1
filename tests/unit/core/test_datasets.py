"""Data sets of other libraries: pairs, mappings and pictures become samples; others are refused by their cause."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fedradio.core.contracts import Samples
from fedradio.core.datasets import picture_array
from fedradio.core.errors import DataError


class Items:
    """A data set as other libraries have them: a length and numbered items."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


def picture(brightness: int, mode: str = "RGB", size: tuple[int, int] = (4, 2)) -> Image.Image:
    return Image.new("RGB", size, (brightness, 0, 255)).convert(mode)


def test_pairs_of_pictures() -> None:
    """Width 4 and height 2; red 51 of 255 is 0.2."""
    made = Samples.from_dataset(Items((picture(51), 0), (picture(102), 1)), Items((picture(0), 1)))
    assert made.x.shape == (2, 3, 2, 4)
    assert made.x[:, :, 0, 0].tolist() == pytest.approx(np.array([[0.2, 0, 1], [0.4, 0, 1]]))
    assert (made.y.tolist(), made.test_y.tolist(), made.classes) == ([0, 1], [1], 2)


def test_grey_and_palette_pictures() -> None:
    assert picture_array(picture(9, "L")).shape == (1, 2, 4)
    assert np.allclose(picture_array(picture(51, "P")), picture_array(picture(51)), atol=0.1)


def test_mappings_tensors_and_words() -> None:
    rows = [{"img": torch.full((2,), float(i)), "fine_label": torch.tensor(i % 2), "id": "a"} for i in range(6)]
    assert Samples.from_dataset(Items(*rows), test_fraction=0).y.tolist() == [0, 1] * 3
    assert Samples.from_dataset(rows, test_fraction=0, ids=True).x.dtype == torch.int64
    words = [{"text": [float(i)], "class": "ba"[i % 2]} for i in range(6)]
    assert Samples.from_dataset(words, keys=("text", "class"), test_fraction=0).y.tolist() == [1, 0] * 3


class Broken(Items):
    def __getitem__(self, i: int) -> Any:
        if i == 1:
            raise OSError("disk")
        return self.items[i]


class Stream:
    def __iter__(self) -> Any:
        return iter([])


@pytest.mark.parametrize(
    ("train", "options", "words"),
    [
        ({"train": Items(), "test": Items()}, {}, r"mapping of parts \(train, test\): pass one of them"),
        (Stream(), {}, "Stream: an object with a length and numbered items"),
        (Items(), {}, "train has no samples"),
        (Items((np.zeros(2), 0), np.zeros(2)), {}, r"item 1 of train is a ndarray: a pair"),
        (Items((np.zeros(2), 0, 1)), {}, r"item 0 of train is a tuple of 3: a pair"),
        (Items((np.zeros(2), 0), (np.zeros(3), 1)), {}, r"item 1 of train has shape \(3,\), item 0 has \(2,\)"),
        (Broken((np.zeros(2), 0), (np.zeros(2), 1)), {}, r"item 1 of train cannot be read \(OSError: disk\)"),
        (Items({"a": 1, "b": 2}), {}, r"have the keys a, b: choose with keys=\(input, label\)"),
        (Items({"a": 1, "b": 2}), {"keys": ("a", "c")}, "no key 'c', only a, b"),
        (Items(("cat", 0)), {}, "has the input 'cat'"),
        (Items((np.array([1.0, np.nan]), 0), (np.zeros(2), 1)), {}, "x is nan at sample 0, position 1"),
        (Items((np.zeros(2), None), (np.zeros(2), 1)), {}, "y is None at sample 0"),
    ],
)
def test_other_things_are_refused(train: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        Samples.from_dataset(train, **options)
