"""Checks of the arrays that users pass in as samples; every error names the place.

Arrays may be numpy's, torch's, pandas' or lists. Everything wrong with them is a :class:`DataError`, so that it is
never met later, as a loss that is not a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.errors import DataError
from fedradio.core.params import group_rank
from fedradio.core.rng import Rng

Array = NDArray[Any]

SHOWN = 5
"""Labels and classes that a message names."""


def check_options(classes: Any, test_fraction: Any, rng: Any, sample_bits: Any) -> None:
    """Refuse what stands beside the arrays and is no number, or no generator of random numbers."""
    if classes is not None and (isinstance(classes, bool) or not isinstance(classes, int | np.integer)):
        raise DataError(f"classes must be the number of classes, a whole number, but is {classes!r:.40}")
    if isinstance(test_fraction, bool) or not isinstance(test_fraction, int | float | np.number):
        raise DataError(f"test_fraction must be at least 0 and below 1, but is {test_fraction!r:.40}")
    if rng is not None and not isinstance(rng, Rng):
        raise DataError(f"rng must be a fedradio.Rng, such as Rng(1), but is {type(rng).__name__}")
    if sample_bits is not None and not (isinstance(sample_bits, int | float | np.number) and 0 < sample_bits < np.inf):
        raise DataError(f"sample_bits must be a number above 0, but is {sample_bits!r:.40}")


def as_array(value: Any, name: str) -> Array:
    """What a user gives as a numpy array of at least one sample."""
    if hasattr(value, "toarray"):
        raise DataError(f"{name} is a sparse matrix: pass {name}.toarray()")
    if isinstance(value, Tensor):
        if value.layout is not torch.strided:
            raise DataError(f"{name} is a sparse tensor: pass {name}.to_dense()")
        array: Array = _plain(value, name)
    elif hasattr(value, "to_numpy"):
        array = value.to_numpy()
    elif isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
        array = _stacked([as_array(item, name) if isinstance(item, Tensor) else item for item in value], name)
    else:
        array = _stacked(value, name)
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.getmaskarray(array).any():
            raise DataError(f"{name} is masked at {_place(np.ma.getmaskarray(array))}: fill it in, or leave it out")
        array = np.asarray(array)
    if array.ndim == 0:
        raise DataError(f"{name} must be an array of samples, but is {type(value).__name__}")
    if len(array) == 0:
        raise DataError(f"{name} has no samples")
    return array


def features(value: Any, name: str, ids: bool = False) -> Tensor:
    """The inputs ``[n, *shape]`` of ``n`` samples as float32, or as int64 where they are ``ids``; all finite."""
    array = _numbers(as_array(value, name), name)
    if array.ndim == 1:
        raise DataError(
            f"{name} has shape {array.shape}, but needs one row per sample; for a single feature use {name}[:, None]"
        )
    if array.size == 0:
        raise DataError(f"{name} has shape {array.shape}: its samples have no values")
    if ids:
        return _ids(array, name)
    bad = ~np.isfinite(array)
    if bad.any():
        raise DataError(f"{name} is {array[bad][0]} at {_place(bad)}: fill it in, or leave the sample out")
    with np.errstate(over="ignore"):
        single = np.array(array, dtype=np.float32, order="C")
    if not np.isfinite(single).all():
        lost = ~np.isfinite(single)
        raise DataError(f"{name} is {array[lost][0]:g} at {_place(lost)}, too large for float32: scale it")
    return torch.from_numpy(single)


def labels(given: Mapping[str, Any], classes: int | None, relabel: bool) -> tuple[dict[str, Tensor], int]:
    """The labels of every array of ``given`` as int64 ``[n]``, and the number of classes.

    Whole numbers from 0 are classes as they are. Words, and with ``relabel`` all others too, are numbered in sorted
    order over all arrays.
    """
    arrays = {name: _label_array(value, name) for name, value in given.items()}
    words = {name for name, array in arrays.items() if array.dtype.kind == "U"}
    if words and len(words) < len(arrays):
        raise DataError(f"{' and '.join(arrays)} must have the same type, but {' and '.join(sorted(words))} has words")
    if words or relabel:
        known = np.unique(np.concatenate(list(arrays.values())))
        arrays = {name: np.searchsorted(known, array) for name, array in arrays.items()}
        if classes is not None and len(known) > classes:
            shown = ", ".join(str(each) for each in known[:SHOWN])
            raise DataError(f"there are {len(known)} labels ({shown}...), but classes is {classes}")
    count = _class_count(arrays) if classes is None else classes
    for name, array in arrays.items():
        outside = (array < 0) | (array >= count)
        if outside.any():
            reason = f"{name} is {array[outside][0]} at {_place(outside)}"
            remedy = "; relabel accepts any labels" if bool((array < 0).any()) and not relabel else ""
            raise DataError(f"{reason}: labels must be 0 to {count - 1} for {count} classes{remedy}")
    if count < 2:
        raise DataError(f"all of {' and '.join(arrays)} has the same label: there is nothing to classify")
    return {name: torch.from_numpy(array.astype(np.int64)) for name, array in arrays.items()}, count


def drawn_test(y: Tensor, fraction: float, rng: Rng) -> Tensor:
    """Which of the samples ``[n]`` are the test part: ``fraction`` of every class, rounded, but never its last one."""
    if not 0 <= fraction < 1:
        raise DataError(f"test_fraction must be at least 0 and below 1, but is {fraction}")
    count = torch.bincount(y)
    size = torch.minimum(torch.round(fraction * count), (count - 1).clamp(min=0))
    if fraction > 0 and not bool(size.any()):
        raise DataError(
            f"test_fraction {fraction} of every class leaves the test set empty: use a larger one, or give a test set"
        )
    return group_rank(torch.from_numpy(rng.numpy().random(len(y))), y) < size[y]


def standardised(x: Tensor, test_x: Tensor) -> tuple[Tensor, Tensor]:
    """Both with mean 0 and deviation 1 of the training part, column by column of a table, channel by channel of images
    ``[n, channels, ...]``; what is constant there is 0."""
    axes = [axis for axis in range(x.ndim) if axis != 1]
    mean = x.double().mean(dim=axes, keepdim=True)
    deviation = (x.double() - mean).square().mean(dim=axes, keepdim=True).sqrt()
    scale = torch.where(deviation > 0, 1 / deviation, torch.zeros_like(deviation))
    return ((x - mean) * scale).float(), ((test_x - mean) * scale).float()


def check_arrays(x: Tensor, y: Tensor, classes: int, prefix: str = "") -> None:
    """Refuse samples ``x [n, *shape]``, ``y [n]`` that no model can learn from, however they were made."""
    if len(x) != len(y):
        raise DataError(
            f"{prefix}x has {len(x)} samples and {prefix}y has {len(y)} labels: one label per sample is needed"
        )
    if y.ndim != 1 or y.dtype != torch.int64:
        raise DataError(f"{prefix}y is {y.dtype} of shape {tuple(y.shape)}: int64 of shape [n] is needed")
    if x.ndim < 2:
        raise DataError(f"{prefix}x has shape {tuple(x.shape)}: one row per sample is needed")
    if x.dtype not in (torch.float32, torch.int64):
        raise DataError(f"{prefix}x is {x.dtype}: float32 is needed, or int64 for ids")
    if not x.numel():
        return
    low, high = x.aminmax()
    if not bool(torch.isfinite(low + high)):
        bad = ~torch.isfinite(x).cpu().numpy()
        if bad.any():
            raise DataError(f"{prefix}x is not finite at {_place(bad)}: the data is wrong, not the training")
    if not 0 <= int(y.min()) <= int(y.max()) < classes:
        outside = ((y < 0) | (y >= classes)).cpu().numpy()
        found = int(y[int(outside.argmax())])
        raise DataError(f"{prefix}y is {found} at {_place(outside)}: labels must be 0 to {classes - 1}")


def sample_bits(array: Array) -> float:
    """Bits of a sample as it is kept: 8 a value of one byte, 32 a value of any other type."""
    return float(np.prod(array.shape[1:]) * (8 if array.dtype.itemsize == 1 else 32))


def _plain(value: Tensor, name: str) -> Array:
    """A tensor as an array; one without values, of parts or in codes is refused."""
    if value.is_nested or value.is_quantized or value.is_meta:
        kind = "nested" if value.is_nested else "quantised" if value.is_quantized else "meta"
        raise DataError(f"{name} is a {kind} tensor: pass a plain one")
    plain = value.detach().cpu()
    array: Array = (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    return array


def _stacked(value: Any, name: str) -> Array:
    """A list as an array; samples of different shapes are refused by their number."""
    try:
        return np.asanyarray(value)
    except Exception:  # whatever numpy, or the object, raises; the place is looked for below
        shapes = [np.shape(np.asarray(item, dtype=object)) for item in value] if isinstance(value, list | tuple) else []
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is None:
        raise DataError(f"{name} must be an array of samples, but is {type(value).__name__}") from None
    reason = f"sample {odd} of {name} has shape {shapes[odd]}, sample 0 has {shapes[0]}"
    raise DataError(f"{reason}: all samples must have the same shape") from None


def _numbers(array: Array, name: str) -> Array:
    """The array if it holds real numbers; objects are looked at one by one."""
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        for place, item in np.ndenumerate(array):
            if not isinstance(item, int | float | np.number):
                at = _words(place)
                raise DataError(f"{name} is {item!r:.40} at {at}: numbers are needed, in samples of the same shape")
        return _objects(array, name)
    if array.dtype.kind == "U":
        raise DataError(f"{name} is text, such as {str(array.flat[0])!r:.40}: numbers are needed")
    raise DataError(f"{name} is of type {array.dtype}: real numbers are needed")


def _objects(array: Array, name: str) -> Array:
    """Numbers of Python as float64."""
    try:
        return array.astype(np.float64)
    except OverflowError:  # Python's whole numbers have no end
        raise DataError(f"{name} has a whole number that is too large for a float: scale it") from None


def _ids(array: Array, name: str) -> Tensor:
    """Whole numbers from 0 as int64."""
    bad = ~np.isfinite(array) | (array < 0) | (array >= 2**31) | (array != np.floor(array))
    if bad.any():
        raise DataError(f"{name} is {array[bad][0]} at {_place(bad)}: ids are whole numbers from 0")
    return torch.from_numpy(array.astype(np.int64))


def _label_array(value: Any, name: str) -> Array:
    """Labels as words or as int64, ``[n]``."""
    array = as_array(value, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        reason = f"{name} has shape {array.shape}: one label per sample is needed"
        raise DataError(f"{reason}; for one-hot rows use {name}.argmax(1)" if array.ndim == 2 else reason)
    if array.dtype.kind == "O":
        _check_label_objects(array, name)
    if array.dtype.kind in "OS" and all(isinstance(item, str | bytes) for item in array):
        array = np.array([item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in array])
    if array.dtype.kind == "U":
        return array
    array = _numbers(array, name)
    bad = ~np.isfinite(array) | (np.abs(array.astype(np.float64)) >= 2**62) | (array != np.floor(array))
    if bad.any():
        raise DataError(
            f"{name} is {array[bad][0]} at {_place(bad)}: labels are classes, whole numbers from 0, or words"
        )
    return array.astype(np.int64)


def _check_label_objects(array: Array, name: str) -> None:
    """Refuse labels that are missing, and words among numbers."""
    for i, item in enumerate(array):
        if item is None or type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, float) and item != item):
            raise DataError(f"{name} is {item!r:.40} at sample {i}: every sample needs a label")
    words = [isinstance(item, str | bytes) for item in array]
    if any(words) and not all(words):
        i = words.index(not words[0])
        raise DataError(f"{name} is {array[0]!r:.40} at sample 0 and {array[i]!r:.40} at sample {i}: words or numbers")


def _class_count(arrays: Mapping[str, Array]) -> int:
    """Classes that the labels tell: 0 to the highest, each of which must occur."""
    known = np.unique(np.concatenate(list(arrays.values())))
    highest, first = int(known[-1]), next(iter(arrays))
    if known[0] >= 0 and len(known) != highest + 1:
        gap = next(i for i in range(highest + 1) if i >= len(known) or known[i] != i)
        reason = f"{first} has labels up to {highest}, and none is {gap}"
        raise DataError(f"{reason}: number them 0, 1, 2... (relabel does), or give classes")
    if len(known) == len(arrays[first]) > 2:
        raise DataError(f"every label of {first} occurs once: there is nothing to learn; is it what is to be told?")
    return highest + 1


def _place(mask: Array) -> str:
    """The first place where a mask is true, for people."""
    return _words(np.unravel_index(int(np.argmax(mask)), mask.shape))


def _words(place: Sequence[Any]) -> str:
    sample, *inside = (int(each) for each in place)
    return f"sample {sample}" + (f", position {inside[0] if len(inside) == 1 else tuple(inside)}" if inside else "")
