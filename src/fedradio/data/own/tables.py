"""Sources of tables: CSV and Parquet files with a column of labels; all other columns are the inputs."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Samples, Target
from fedradio.core.errors import DataError, Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import column, numbers, open_table, read_given, wrong

Floats = NDArray[np.float64]
Read = tuple[Floats, list[Any], list[str]]
"""Inputs ``[n, f]``, labels and the names of the input columns."""

Names = tuple[str, ...]
Shape = tuple[int, ...]

PATH = Arg("path of the file, relative to where the run is started; its first line names the columns", file=True)
LABEL = Arg("label column: whole numbers from 0, or words, which are numbered in sorted order")
DROP = Arg("columns to leave out of the inputs")
TEST_PATH = Arg("file of the test set, with the same columns; null: use test_fraction", file=True)
TEST_FRACTION = Arg("fraction of every class held out as the test set; 0: none, for data.test=client", ge=0, le=0.99)
CLASSES = Arg("number of classes; null: as many as occur", ge=2, le=1_000_000)
RELABEL = Arg("renumber the labels that occur in sorted order, whatever they are")
STANDARDISE = Arg(
    "scale to mean 0 and standard deviation 1 on the training set, per column, or per channel if shape is given"
)
SHAPE = Arg("shape of a sample, such as [1, 28, 28]; null: one value per column", ge=1, le=1_000_000)


@register("source", "csv")
def csv(
    clients: int,
    rng: Rng,
    target: Target = "class",
    /,
    *,
    path: Annotated[str, PATH],
    label: Annotated[str, LABEL],
    drop: Annotated[Names, DROP] = (),
    delimiter: Annotated[str, Arg("character that separates columns")] = ",",
    shape: Annotated[Shape | None, SHAPE] = None,
    test_path: Annotated[str | None, TEST_PATH] = None,
    test_fraction: Annotated[float, TEST_FRACTION] = 0.2,
    classes: Annotated[int | None, CLASSES] = None,
    relabel: Annotated[bool, RELABEL] = False,
    standardise: Annotated[bool, STANDARDISE] = True,
) -> Samples:
    """Your own table: a CSV file with a label column; all other columns are numbers.

    The test set is drawn from the seed, class by class, unless it has its own file. With ``data.target: value`` the
    labels are real values to predict (regression).
    """
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise SpecError(Problem("source.delimiter", "must be a single character", "such as ';'", delimiter))

    def read(file: str, where: str) -> Read:
        return _csv(file, where, label, drop, delimiter)

    parts = _parts(read, path, test_path)
    options = {"test_fraction": test_fraction, "classes": classes, "relabel": relabel, "standardise": standardise}
    return samples_of(parts, path, shape, rng, target=target, **options)


@register("source", "parquet")
def parquet(
    clients: int,
    rng: Rng,
    target: Target = "class",
    /,
    *,
    path: Annotated[str, Arg("path of the file, relative to where the run is started", file=True)],
    label: Annotated[str, LABEL],
    drop: Annotated[Names, DROP] = (),
    shape: Annotated[Shape | None, SHAPE] = None,
    test_path: Annotated[str | None, TEST_PATH] = None,
    test_fraction: Annotated[float, TEST_FRACTION] = 0.2,
    classes: Annotated[int | None, CLASSES] = None,
    relabel: Annotated[bool, RELABEL] = False,
    standardise: Annotated[bool, STANDARDISE] = True,
) -> Samples:
    """Your own table: a Parquet file with a label column; all other columns are numbers (needs pyarrow).

    The test set is drawn from the seed, class by class, unless it has its own file. With ``data.target: value`` the
    labels are real values to predict (regression).
    """

    def read(file: str, where: str) -> Read:
        return _parquet(file, where, label, drop)

    parts = _parts(read, path, test_path)
    options = {"test_fraction": test_fraction, "classes": classes, "relabel": relabel, "standardise": standardise}
    return samples_of(parts, path, shape, rng, target=target, **options)


def samples_of(parts: dict[str, Any], path: str, shape: Sequence[int] | None, rng: Rng, **options: Any) -> Samples:
    """Samples of the arrays ``x``, ``y`` and, where there are any, ``test_x`` and ``test_y`` of a file; what is wrong
    with them is told with its name."""
    if shape is not None:
        for name in {"x", "test_x"} & parts.keys():
            values = math.prod(np.shape(parts[name])[1:])
            if values != math.prod(shape):
                reason = f"a sample of {path} has {values} values, but the shape has {math.prod(shape)}"
                raise SpecError(Problem("source.shape", reason, "set the shape of the samples", tuple(shape)))
            parts[name] = np.reshape(parts[name], (-1, *shape))
    try:
        return Samples.from_arrays(parts.pop("x"), parts.pop("y"), rng=rng, **parts, **options)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _parts(read: Any, path: str, test_path: str | None) -> dict[str, Any]:
    """The arrays of the training file and of the test file, whose columns must be the same."""
    x, y, names = read(path, "source.path")
    parts = {"x": x, "y": y}
    if test_path is not None:
        parts["test_x"], parts["test_y"], others = read(test_path, "source.test_path")
        if others != names:
            odd = sorted(set(others) ^ set(names)) or others
            reason = f"{test_path} and {path} do not have the same columns, in the same order"
            raise SpecError(Problem("source.test_path", reason, f"check the column {odd[0]}"))
    return parts


def _csv(path: str, where: str, label: str, drop: Names, delimiter: str) -> Read:
    """The numbers of a CSV file, and its labels as they stand there."""
    columns, rows = open_table(path, where, delimiter)
    at, inputs = _columns(columns, path, label, drop)
    values, labels = [], []
    for line, cells in rows:
        values.append(np.array(numbers([cells[i] for i in inputs])))
        labels.append(cells[at].strip())
        if labels[-1].lower() in ("", "nan"):
            raise wrong(where, path, f"{label} is {labels[-1] or 'empty'}: every sample needs a label", line)
        if not np.isfinite(values[-1]).all():
            bad = inputs[int(np.argmin(np.isfinite(values[-1])))]
            reason = f"{columns[bad]} is not a finite number: {cells[bad]!r:.40}"
            remedy = f"leave out the line, or the column: data.source.drop=[{columns[bad]}]"
            raise wrong(where, path, reason, line, remedy)
    if not values:
        raise wrong(where, path, "has no samples after its first line")
    return np.stack(values), _as_numbers(labels), [columns[i] for i in inputs]


def _as_numbers(labels: list[str]) -> list[Any]:
    """Labels as numbers if all of them are."""
    found = numbers(labels)
    return found if all(map(math.isfinite, found)) else labels


def _columns(columns: Sequence[str], path: str, label: str, drop: Names) -> tuple[int, list[int]]:
    """Where the labels stand, and the inputs."""
    at = column(label, columns, path, "source.label")
    dropped = {column(name, columns, path, "source.drop") for name in drop}
    inputs = [i for i in range(len(columns)) if i != at and i not in dropped]
    if not inputs:
        raise SpecError(Problem("source.path", f"{path} has no input column besides {label}", value=path))
    return at, inputs


def _parquet(path: str, where: str, label: str, drop: Names) -> Read:
    """The numbers of a Parquet file, and its labels."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'fedradio[parquet]'"
        raise SpecError(Problem(where, "Parquet needs pyarrow, which is not installed", remedy, path)) from None
    try:
        table = parquet.read_table(io.BytesIO(read_given(path, where)))
    except pyarrow.ArrowException as error:
        raise wrong(where, path, f"not a readable Parquet file ({type(error).__name__})") from None
    at, inputs = _columns(table.column_names, path, label, drop)
    if table.num_rows == 0:
        raise wrong(where, path, "has no samples")
    return (
        np.stack([_parquet_column(table, i, path, where) for i in inputs], axis=1),
        table.column(at).to_pylist(),
        [table.column_names[i] for i in inputs],
    )


def _parquet_column(table: Any, at: int, path: str, where: str) -> Floats:
    """A column of finite numbers, ``[n]``."""
    from pyarrow import float64, types

    found, name = table.column(at), table.column_names[at]
    if not (types.is_integer(found.type) or types.is_floating(found.type) or types.is_boolean(found.type)):
        remedy = f"leave it out: data.source.drop=[{name}]"
        raise wrong(where, path, f"column {name} is {found.type}, not numbers", remedy=remedy)
    values: Floats = found.cast(float64(), safe=False).to_numpy()
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        remedy = f"leave out the row, or the column: data.source.drop=[{name}]"
        raise wrong(where, path, f"{name} is {found[row].as_py()} in row {row}", remedy=remedy)
    return values
