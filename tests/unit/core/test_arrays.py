"""Arrays of users: wrong ones are refused with their cause, right ones are the same numbers whatever library they are
of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fedradio.core.arrays import drawn_test, standardised
from fedradio.core.contracts import Samples, Scale
from fedradio.core.errors import DataError
from fedradio.core.rng import Rng

Y = [0, 1, 2] * 4


def x(**changes: Any) -> np.ndarray:
    """Twelve samples of three values; ``at=(5, 1), value=...`` changes one."""
    array = np.arange(36, dtype=changes.get("dtype", np.float64)).reshape(12, 3)
    if "at" in changes:
        array[changes["at"]] = changes["value"]
    return array


class Frame:
    """What pandas' tables and columns have in common with this."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.array)


class Sparse:
    def toarray(self) -> np.ndarray:
        return x()


class NAType:
    """A missing value that is like nothing, as that of pandas."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "<NA>"


def changed(i: int, value: Any, kind: Any = object) -> np.ndarray:
    y = np.array(Y, dtype=kind)
    y[i] = value
    return y


WRONG: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "lengths": (lambda: {"x": x(), "y": Y[:-1]}, "x has 12 samples and y has 11 labels"),
    "no samples": (lambda: {"x": [], "y": []}, "x has no samples"),
    "no labels": (lambda: {"x": x(), "y": []}, "y has no samples"),
    "no values": (lambda: {"x": np.zeros((12, 0)), "y": Y}, "samples have no values"),
    "flat": (lambda: {"x": np.arange(12.0), "y": Y}, r"shape \(12,\), but needs one row per sample"),
    "nan": (lambda: {"x": x(at=(5, 1), value=np.nan), "y": Y}, "x is nan at sample 5, position 1"),
    "inf": (
        lambda: {"x": torch.tensor(x(at=(7, 2), value=np.inf)), "y": Y},
        "x is inf at sample 7, position 2",
    ),
    "nan in images": (
        lambda: {"x": x(at=(3, 0), value=np.nan).reshape(12, 1, 3, 1), "y": Y},
        r"x is nan at sample 3, position \(0, 0, 0\)",
    ),
    "too large": (lambda: {"x": x(at=(2, 0), value=1e300), "y": Y}, r"x is 1e\+300 at sample 2.*float32"),
    "text": (lambda: {"x": [["a", "b"]] * 12, "y": Y}, "x is of type <U1"),
    "none": (lambda: {"x": [[1.0, None]] * 12, "y": Y}, "x is nan at sample 0, position 1"),
    "missing of pandas": (
        lambda: {"x": Frame([[1.0, NAType()]] * 12), "y": Y},
        "x has values that are not numbers.*NAType",
    ),
    "ragged": (lambda: {"x": [[1.0, 2.0]] * 4 + [[1.0]] * 8, "y": Y}, "x is not an array: .*inhomogeneous"),
    "ragged tensors": (
        lambda: {"x": [torch.zeros(2), torch.zeros(3)], "y": [0, 1]},
        "x is not an array: .*inhomogeneous",
    ),
    "complex": (lambda: {"x": x().astype(complex), "y": Y}, "x is of type complex128"),
    "dates": (lambda: {"x": np.full((12, 1), np.datetime64("2020-01-01")), "y": Y}, "x is of type datetime64"),
    "sparse": (lambda: {"x": Sparse(), "y": Y}, "must be an array of samples, but is Sparse"),
    "sparse tensor": (lambda: {"x": torch.tensor(x()).to_sparse(), "y": Y}, "x is not an array: .*to_dense"),
    "masked": (lambda: {"x": np.ma.masked_equal(x(), 4.0), "y": Y}, "x is a masked array"),
    "a number": (lambda: {"x": 3.0, "y": Y}, "x must be an array of samples, but is float"),
    "a mapping": (lambda: {"x": {"a": 1}, "y": Y}, "x must be an array of samples, but is dict"),
    "a generator": (lambda: {"x": (row for row in x()), "y": Y}, "x must be an array of samples, but is generator"),
    "one-hot": (lambda: {"x": x(), "y": np.eye(3)[Y]}, r"y has shape \(12, 3\).*y.argmax\(1\)"),
    "fractions": (lambda: {"x": x(), "y": changed(4, 0.5, float)}, "y is 0.5 at sample 4: labels are classes"),
    "label nan": (lambda: {"x": x(), "y": changed(4, np.nan, float)}, "y is nan at sample 4"),
    "negative": (lambda: {"x": x(), "y": changed(4, -1, int)}, "y is -1 at sample 4: labels must be 0 to 2"),
    "outside": (lambda: {"x": x(), "y": Y, "classes": 2}, "y is 2 at sample 2: labels must be 0 to 1 for 2 classes"),
    "from one": (lambda: {"x": x(), "y": np.array(Y) + 1}, "labels up to 3, and none is 0.*relabel"),
    "gap": (lambda: {"x": x(), "y": np.array(Y) * 10**9}, "labels up to 2000000000, and none is 1"),
    "huge": (lambda: {"x": x(), "y": changed(0, 2**63, np.uint64)}, "y is 9223372036854775808 at sample 0"),
    "label none": (lambda: {"x": x(), "y": changed(3, None)}, "y is None at sample 3: every sample needs a label"),
    "words and numbers": (lambda: {"x": x(), "y": changed(3, "cat")}, "y has values that are not numbers: .*'cat'"),
    "one class": (lambda: {"x": x(), "y": [0] * 12}, "has the same label: there is nothing to classify"),
    "one word": (lambda: {"x": x(), "y": ["cat"] * 12}, "has the same label: there is nothing to classify"),
    "names of samples": (lambda: {"x": x(), "y": [f"id{i}" for i in range(12)]}, "every label of y occurs once"),
    "too many words": (lambda: {"x": x(), "y": ["a", "b", "c"] * 4, "classes": 2}, "3 labels .*classes is 2"),
    "test without labels": (lambda: {"x": x(), "y": Y, "test_x": x()}, "test_x and test_y belong together"),
    "test empty": (lambda: {"x": x(), "y": Y, "test_x": x()[:0], "test_y": []}, "test_y has no samples"),
    "test lengths": (lambda: {"x": x(), "y": Y, "test_x": x(), "test_y": [0]}, "12 samples and test_y has 1"),
    "test shape": (lambda: {"x": x(), "y": Y, "test_x": x()[:, :2], "test_y": Y}, r"test_x have shape \(2,\).*\(3,\)"),
    "test nan": (
        lambda: {"x": x(), "y": Y, "test_x": x(at=(1, 1), value=np.nan), "test_y": Y},
        "test_x is nan at sample 1",
    ),
    "test words": (lambda: {"x": x(), "y": Y, "test_x": x(), "test_y": ["a", "b"] * 6}, "test_y has words"),
    "test outside": (lambda: {"x": x(), "y": Y, "classes": 3, "test_x": x(), "test_y": [3] * 12}, "test_y is 3"),
    "share": (lambda: {"x": x(), "y": Y, "test_fraction": 1.0}, "test_fraction must be at least 0"),
    "share of few": (lambda: {"x": x()[:6], "y": Y[:6], "test_fraction": 0.1}, "leaves the test set empty"),
    "ids": (lambda: {"x": x() + 0.5, "y": Y, "ids": True}, "x is 0.5 at sample 0.*ids are whole numbers"),
    "bits below 0": (lambda: {"x": x(), "y": Y, "sample_bits": -8}, "sample_bits must be above 0"),
    "without values": (lambda: {"x": torch.zeros(12, 3, device="meta"), "y": Y}, "x is not an array: .*meta"),
    "whole numbers without end": (
        lambda: {"x": [[10**400]] * 12, "y": Y},
        "x has values that are not numbers: int too large",
    ),
    "from minus one": (lambda: {"x": x(), "y": np.array(Y) - 1}, "y is -1 at sample 0.*relabel"),
    "ids below 0": (lambda: {"x": x() - 1, "y": Y, "ids": True}, "x is -1.0 at sample 0"),
}
"""Data as people give them by mistake, and the words that name it."""


@pytest.mark.parametrize("case", WRONG)
def test_wrong_data_are_refused_by_their_cause(case: str) -> None:
    make, words = WRONG[case]
    with pytest.raises(DataError, match=words):
        Samples.from_arrays(**make())


def test_the_table_is_long_enough() -> None:
    assert len(WRONG) >= 30


@pytest.mark.parametrize(
    "given",
    [x(), x().tolist(), torch.tensor(x()), list(torch.tensor(x())), Frame(x()), x(dtype=np.int32), x().astype(object)],
    ids=["numpy", "lists", "torch", "tensors", "pandas", "integers", "objects"],
)
def test_every_library_gives_the_same_samples(given: Any) -> None:
    """Of four samples a class a quarter is one test sample; the numbers stay."""
    made = Samples.from_arrays(given, Y, test_fraction=0.25)
    again = Samples.from_arrays(x(), torch.tensor(Y), test_fraction=0.25)
    assert (made.x.dtype, made.y.dtype) == (torch.float32, torch.int64)
    assert torch.equal(made.x, again.x)
    assert torch.equal(made.test_y, again.test_y)
    assert (len(made.y), sorted(made.test_y.tolist()), made.classes) == (9, [0, 1, 2], 3)
    whole = torch.cat([made.x, made.test_x])
    assert torch.equal(whole[whole[:, 0].argsort()], torch.tensor(x()).float())
    assert torch.equal(made.x[:, 0].long() // 3 % 3, made.y)
    assert made.sample_bits == 96.0


def test_words_are_numbered_in_sorted_order() -> None:
    words = ["bee", "ant"] * 6
    for y in (words, np.array(words), np.array(words, dtype=object), np.array(words, dtype="S")):
        made = Samples.from_arrays(x(), y, test_x=x()[:2], test_y=y[:2])
        assert made.y.tolist() == [1, 0] * 6
        assert made.test_y.tolist() == [1, 0]
    assert Samples.from_arrays(x(), [5, 9] * 6, relabel=True, test_fraction=0).y.tolist() == [0, 1] * 6
    assert Samples.from_arrays(x(), [True, False] * 6, test_fraction=0).y.tolist() == [1, 0] * 6


def test_bytes_ids_and_classes_as_they_are_given() -> None:
    made = Samples.from_arrays(x().astype(np.uint8), Y, ids=True, classes=7, test_fraction=0)
    assert (made.x.dtype, made.classes, made.sample_bits, len(made.test_y)) == (torch.int64, 7, 24.0, 0)
    assert Samples.from_arrays(x(), Y, sample_bits=5.0).sample_bits == 5.0


def test_the_given_arrays_are_not_touched() -> None:
    mine = x(dtype=np.float32)
    Samples.from_arrays(mine, Y, test_fraction=0).x.zero_()
    assert np.array_equal(mine, x(dtype=np.float32))


def test_the_split_is_drawn_from_the_seed() -> None:
    y = torch.arange(300) % 3
    one, two, other = (drawn_test(y, 0.2, Rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.bincount(y[one]).tolist() == [20, 20, 20]


def test_the_last_sample_of_a_class_stays_in_training() -> None:
    assert drawn_test(torch.tensor([0, 0, 1]), 0.9, Rng(0)).sum() == 1


def test_standardised_by_hand() -> None:
    """Columns 1, 3 (mean 2, deviation 1) and 5, 5 (constant); the test part by the same numbers."""
    a, b = standardised(torch.tensor([[1.0, 5.0], [3.0, 5.0]]), torch.tensor([[4.0, 9.0]]))
    assert a.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert b.tolist() == [[2.0, 0.0]]
    images = torch.arange(16.0).view(2, 2, 2, 2)
    assert standardised(images, images)[0].mean(dim=(0, 2, 3)).abs().max() < 1e-6


def made(**changes: Any) -> Samples:
    samples = Samples.from_arrays(x(), Y, test_fraction=0.25)
    return Samples(**{name: getattr(samples, name) for name in samples.__dataclass_fields__} | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": torch.full((9, 3), torch.nan)}, "x is not finite at sample 0, position 0: the data is wrong"),
        ({"test_x": torch.full((3, 3), torch.inf)}, "test_x is not finite"),
        ({"y": torch.full((9,), 3)}, "y is 3 at sample 0: labels must be 0 to 2"),
        ({"y": torch.zeros(9)}, "y has values, .*classes must be 1, not 3"),
        ({"y": torch.zeros(9).double()}, "y is torch.float64"),
        ({"y": torch.full((9,), torch.nan), "classes": 1}, "y is not finite"),
        ({"y": torch.zeros(8).long()}, "x has 9 samples and y has 8"),
        ({"x": torch.zeros(9, 3).double()}, "x is torch.float64: float32 is needed"),
        ({"x": torch.zeros(9, 3).byte()}, "x is torch.uint8: float32 is needed"),
        ({"scale": Scale(0.5, 0.25)}, "x is torch.float32: uint8 is needed"),
        ({"x": torch.zeros(9, 3).byte(), "scale": Scale(0.5, 0.25)}, "test_x is torch.float32: uint8 is needed"),
        ({"x": torch.zeros(9)}, "one row per sample"),
        ({"x": torch.zeros(0, 3), "y": torch.zeros(0).long()}, "x has no samples"),
    ],
)
def test_samples_made_by_hand_are_checked_too(changes: dict[str, Any], words: str) -> None:
    made().check()
    with pytest.raises(DataError, match=words):
        made(**changes).check()


def test_samples_of_pixels_are_good_with_a_scale() -> None:
    made(x=torch.zeros(9, 3).byte(), test_x=torch.zeros(3, 3).byte(), scale=Scale(0.5, 0.25)).check()
