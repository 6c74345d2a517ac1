"""Source of arrays in a NumPy file; pickled objects in it are never loaded."""

from __future__ import annotations

import io
import zipfile
from typing import Annotated, Any

import numpy as np

from fedradio.core.contracts import Samples, Target
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import read_given, wrong
from fedradio.data.own.tables import CLASSES, RELABEL, SHAPE, STANDARDISE, TEST_FRACTION, Shape, samples_of

WHERE = "source.path"


@register("source", "npz")
def npz(
    clients: int,
    rng: Rng,
    target: Target = "class",
    /,
    *,
    path: Annotated[str, Arg("npz file with x [n, ...] and y [n], and optionally test_x and test_y", file=True)],
    x: Annotated[str, Arg("name of the array of inputs")] = "x",
    y: Annotated[str, Arg("name of the array of labels: whole numbers from 0, or words")] = "y",
    test_x: Annotated[
        str, Arg("name of the array of test inputs; if the file has none, test_fraction applies")
    ] = "test_x",
    test_y: Annotated[str, Arg("name of the array of test labels")] = "test_y",
    shape: Annotated[Shape | None, SHAPE] = None,
    test_fraction: Annotated[float, TEST_FRACTION] = 0.2,
    classes: Annotated[int | None, CLASSES] = None,
    relabel: Annotated[bool, RELABEL] = False,
    standardise: Annotated[bool, STANDARDISE] = True,
    ids: Annotated[bool, Arg("inputs are ids (whole numbers from 0, such as word ids), never standardised")] = False,
) -> Samples:
    """Your own arrays: a NumPy npz file with inputs and labels.

    The test set is drawn from the seed, class by class, unless the file has one. With ``data.target: value`` the labels
    are real values to predict (regression).
    """
    named = {"x": x, "y": y, "test_x": test_x, "test_y": test_y}
    parts: dict[str, Any] = {}
    data = io.BytesIO(read_given(path, WHERE))
    if not zipfile.is_zipfile(data):
        raise wrong(WHERE, path, "not an npz file", remedy="write it with numpy.savez(path, x=x, y=y)")
    try:
        with np.load(data, allow_pickle=False) as arrays:
            missing = [name for name in (x, y) if name not in arrays]
            if missing:
                raise wrong(WHERE, path, f"no array {missing[0]!r:.40}, only {', '.join(arrays)[:80]}")
            parts = {role: arrays[name] for role, name in named.items() if name in arrays}
    except (ValueError, OSError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        reason = (
            "it contains pickled objects, which are never loaded" if "pickle" in str(error) else type(error).__name__
        )
        raise wrong(WHERE, path, f"not a readable npz file ({reason})") from None
    options = {"test_fraction": test_fraction, "classes": classes, "relabel": relabel}
    return samples_of(parts, path, shape, rng, target=target, standardise=standardise and not ids, ids=ids, **options)
