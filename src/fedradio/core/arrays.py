"""Arrays that users pass as samples: converted to tensors and checked; every error names the place.

They may be numpy arrays, tensors, lists, or tables and columns of pandas; numpy converts them. Wrong values are a
:class:`DataError` here, so that they do not appear later as a loss that is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def as_array(value: Any, name: str) -> Array:
    """A user's value as a numpy array of at least one sample."""
    if isinstance(value, np.ma.MaskedArray):  # numpy would use what is under the mask
        raise DataError(f"{name} is a masked array: pass {name}.filled(...)")
    try:
        array = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} is not an array: {error}") from None
    if array.ndim == 0:
        raise DataError(f"{name} must be an array of samples, but is {type(value).__name__}")
    if len(array) == 0:
        raise DataError(f"{name} has no samples")
    return array


def features(value: Any, name: str, ids: bool = False) -> Tensor:
    """The inputs ``[n, *shape]`` of ``n`` samples as float32, or as int64 if they are ``ids``; all are finite."""
    array = _numbers(as_array(value, name), name)
    if array.ndim == 1:
        raise DataError(
            f"{name} has shape {array.shape}, but needs one row per sample; for a single feature use {name}[:, None]"
        )
    if array.size == 0:
        raise DataError(f"{name} has shape {array.shape}: its samples have no values")
    if ids:
        return _ids(array, name)
    with np.errstate(over="ignore"):
        single = np.array(array, dtype=np.float32, order="C")
    bad = ~np.isfinite(single)
    if bad.any():
        raise DataError(f"{name} is {array[bad][0]} at {_place(bad)}: finite numbers of float32 are needed")
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


def values(given: Mapping[str, Any]) -> dict[str, Tensor]:
    """The real-valued targets of every array of ``given`` as float32 ``[n]``; all are finite."""
    found = {}
    for name, value in given.items():
        array = _numbers(as_array(value, name), name)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise DataError(f"{name} has shape {array.shape}: one value per sample is needed")
        with np.errstate(over="ignore"):
            single = np.array(array, dtype=np.float32)
        bad = ~np.isfinite(single)
        if bad.any():
            raise DataError(f"{name} is {array[bad][0]} at {_place(bad)}: every sample needs a finite value")
        found[name] = torch.from_numpy(single)
    return found


def drawn_test(y: Tensor, fraction: float, rng: Rng) -> Tensor:
    """Which of the samples ``[n]`` are the test part: ``fraction`` of every class, rounded, but never its last one; of
    samples with values, ``fraction`` of all."""
    y = torch.zeros_like(y, dtype=torch.long) if y.is_floating_point() else y
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


def check_arrays(x: Tensor, y: Tensor, classes: int, prefix: str = "", *, pixels: bool = False) -> None:
    """Refuse samples ``x [n, *shape]``, ``y [n]`` that no model can learn from, however they were made; ``pixels`` are
    uint8 and standardised later."""
    if len(x) != len(y):
        raise DataError(
            f"{prefix}x has {len(x)} samples and {prefix}y has {len(y)} labels: one label per sample is needed"
        )
    if y.ndim != 1 or y.dtype not in (torch.int64, torch.float32):
        needed = "int64 of shape [n] is needed, or float32 for values"
        raise DataError(f"{prefix}y is {y.dtype} of shape {tuple(y.shape)}: {needed}")
    if x.ndim < 2:
        raise DataError(f"{prefix}x has shape {tuple(x.shape)}: one row per sample is needed")
    if pixels and x.dtype != torch.uint8:
        raise DataError(f"{prefix}x is {x.dtype}: uint8 is needed for samples with a scale")
    if not pixels and x.dtype not in (torch.float32, torch.int64):
        raise DataError(f"{prefix}x is {x.dtype}: float32 is needed, or int64 for ids")
    if not x.numel():
        return
    if not pixels:
        _check_finite(x, prefix)
    if y.is_floating_point():
        _check_finite(y, prefix, "y")
        if classes != 1:
            raise DataError(f"{prefix}y has values, for which a model has one output: classes must be 1, not {classes}")
    elif not 0 <= int(y.min()) <= int(y.max()) < classes:
        outside = ((y < 0) | (y >= classes)).cpu().numpy()
        found = int(y[int(outside.argmax())])
        raise DataError(f"{prefix}y is {found} at {_place(outside)}: labels must be 0 to {classes - 1}")


def _check_finite(x: Tensor, prefix: str, name: str = "x") -> None:
    low, high = x.aminmax()
    if not bool(torch.isfinite(low + high)):
        bad = ~torch.isfinite(x).cpu().numpy()
        if bad.any():
            raise DataError(f"{prefix}{name} is not finite at {_place(bad)}: the data is wrong, not the training")


def sample_bits(array: Array) -> float:
    """Bits of a sample as it is kept: 8 a value of one byte, 32 a value of any other type."""
    return float(np.prod(array.shape[1:]) * (8 if array.dtype.itemsize == 1 else 32))


def _numbers(array: Array, name: str) -> Array:
    """The array if it has real numbers; objects become float64."""
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{name} has values that are not numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {array.dtype}: real numbers are needed")
    return array


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
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind == "U" or (array.dtype.kind == "O" and all(isinstance(item, str) for item in array)):
        return array.astype(np.str_)
    if array.dtype.kind == "O":
        missing = [item is None or (isinstance(item, float) and math.isnan(item)) for item in array]
        if any(missing):
            raise DataError(f"{name} is {array[missing][0]} at {_place(np.array(missing))}: every sample needs a label")
    array = _numbers(array, name)
    bad = ~np.isfinite(array) | (np.abs(array.astype(np.float64)) >= 2**62) | (array != np.floor(array))
    if bad.any():
        raise DataError(
            f"{name} is {array[bad][0]} at {_place(bad)}: labels are classes, whole numbers from 0, or words"
        )
    return array.astype(np.int64)


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
    """The first place where a mask is true."""
    sample, *inside = (int(each) for each in np.unravel_index(int(np.argmax(mask)), mask.shape))
    return f"sample {sample}" + (f", position {inside[0] if len(inside) == 1 else tuple(inside)}" if inside else "")
