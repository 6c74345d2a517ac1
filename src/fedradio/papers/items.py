"""Schema of a published table or figure, an *item*: its columns, rows, published numbers, and how to make ours.

``published/<paper>/<item>.yaml`` in the package holds an :class:`Item`: the quantities compared (columns), the systems
compared (rows), the published numbers, and for each scale the spec whose runs, or whose study, give ours.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from fedradio.core.errors import Problem, SpecError
from fedradio.spec.schema import FRAME
from fedradio.spec.spec import Spec, load_spec
from fedradio.spec.yaml import Plain, parse_yaml

Scale = Literal["quick", "paper"]
Show = Literal["table", "curves", "cdf", "counts", "top", "map", "labels", "bars", "bound"]

Text = Annotated[str, Field(min_length=1)]
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Numbers = Annotated[tuple[float, ...], Field(min_length=1, max_length=2)]
"""A value, or a value and its deviation."""


class Strict(BaseModel):
    """Base of the schema: strict and frozen, unknown keys are refused."""

    model_config = FRAME


class Axes(Strict):
    """The axes of curves: what was spent against a metric or ``energy_j``."""

    x: Literal["rounds", "edge_rounds", "seconds", "joules", "bits"] = "rounds"
    y: Key = "accuracy"


class Column(Strict):
    """A quantity that is compared: a measure of runs, or a key of a study's finding."""

    title: Text
    measure: Text
    study: Key | None = None
    unit: str = ""
    digits: Annotated[int, Field(ge=0, le=9)] = 4
    within: Annotated[float, Field(ge=0)] | None = None
    within_share: Annotated[float, Field(ge=0)] | None = None

    def tolerance(self, published: float) -> float:
        """Largest difference at which ours agrees with a published value."""
        return max(self.within or 0.0, (self.within_share or 0.0) * abs(published))

    def agrees(self, ours: float, published: float) -> bool:
        """Whether ours is within the tolerance."""
        return abs(ours - published) <= self.tolerance(published)


class Source(Strict):
    """Source of a row's numbers at a scale: a shipped spec with overrides, or the reason to skip it."""

    spec: Text | None = None
    set: tuple[Text, ...] = ()
    skip: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> Source:
        if (self.spec is None) == (self.skip is None):
            raise ValueError("give either a spec or a reason to skip")
        if self.skip is not None and self.set:
            raise ValueError("what is skipped has nothing to set")
        return self

    def load(self, seed: int) -> Spec:
        """The spec with this seed."""
        if self.spec is None:
            raise ValueError("a skipped source has no spec")
        return load_spec(self.spec, [*self.set, f"seed={seed}"])


class Row(Strict):
    """A system that is compared. ``algorithm`` chooses the colour; ``notes`` are footnotes of entries, by column."""

    label: Text
    algorithm: Key = "fedavg"
    published: dict[Key, Numbers] = {}
    quick: Source
    paper: Source
    notes: dict[Key, Text] = {}

    def source(self, scale: Scale) -> Source:
        return self.quick if scale == "quick" else self.paper


class Size(Strict):
    """The size of a scale: seeds 1 to ``seeds``, expected wall ``minutes`` on two cores, and what was made smaller."""

    seeds: Annotated[int, Field(ge=1, le=1000)]
    minutes: Annotated[float, Field(gt=0)]
    about: Text


class Scales(Strict):
    """The sizes of both scales."""

    quick: Size
    paper: Size


class Item(Strict):
    """A table or figure of a paper. ``study`` names the study that its picture is drawn from, if no column does."""

    paper: Text
    name: Text
    title: Text
    source: Text
    show: Show
    axes: Axes | None = None
    study: Key | None = None
    columns: dict[Key, Column] = {}
    rows: tuple[Row, ...]
    footnotes: tuple[Text, ...] = ()
    scales: Scales

    @model_validator(mode="after")
    def _consistent(self) -> Item:
        problems = _inconsistencies(self)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def size(self, scale: Scale) -> Size:
        return self.scales.quick if scale == "quick" else self.scales.paper

    @property
    def picture(self) -> str | None:
        """The study that the picture is drawn from: the item's own, else its first column's; None for runs."""
        return self.study or next((column.study for column in self.columns.values() if column.study), None)

    @property
    def draws_runs(self) -> bool:
        """Whether the picture is drawn from runs."""
        return self.show in ("curves", "top") or (self.show == "cdf" and self.picture is None)

    def wants(self, row: Row, key: str) -> bool:
        """Whether a row has an entry in a column: published there, or for no row, or nothing for this row."""
        return key in row.published or not row.published or not any(key in other.published for other in self.rows)

    def trains(self, row: Row) -> bool:
        """Whether a row needs runs."""
        return self.draws_runs or any(
            column.study is None and self.wants(row, key) for key, column in self.columns.items()
        )

    def studied(self, row: Row) -> tuple[str, ...]:
        """The studies that a row needs, each once."""
        drawn = [] if self.show in ("table", "bars") or self.draws_runs else [self.picture]
        compared = [column.study for key, column in self.columns.items() if self.wants(row, key)]
        return tuple(dict.fromkeys(name for name in (*drawn, *compared) if name is not None))


def _inconsistencies(item: Item) -> list[str]:
    """What does not fit together in an item, as sentences."""
    problems = [] if item.rows else ["no rows"]
    labels = [row.label for row in item.rows]
    problems += [f"two rows are called {label!r}" for label in dict.fromkeys(labels) if labels.count(label) > 1]
    for row in item.rows:
        keys = dict.fromkeys((*row.published, *row.notes))
        problems += [f"row {row.label!r}: {key!r} is no column" for key in keys if key not in item.columns]
    for key, column in item.columns.items():
        compared = any(key in row.published for row in item.rows)
        if compared and column.within is None and column.within_share is None:
            problems.append(f"column {key!r} has published numbers: give within or within_share")
    if (item.axes is None) == (item.show == "curves"):
        problems.append("axes belong to curves" if item.axes else "curves need axes")
    if item.show == "table" and not item.columns:
        problems.append("a table needs columns")
    if item.show in NEED_STUDY and item.picture is None:
        problems.append(f"{item.show} needs a study")
    return problems


NEED_STUDY = ("counts", "map", "labels", "bound")
"""Kinds of pictures that cannot be drawn from runs."""


def parse_item(text: str, paper: str, name: str) -> Item:
    """An item from its YAML; raises :class:`SpecError` with the file, the path in it and the reason of each problem."""
    where = f"published/{paper}/{name}.yaml"
    plain = parse_yaml(text, where)
    taken = [key for key in ("paper", "name") if key in plain]
    if taken:
        raise SpecError([Problem(f"{where}: {key}", "unknown key", "the file's place says it") for key in taken])
    try:
        return Item.model_validate_json(json.dumps(plain | {"paper": paper, "name": name}, default=str))
    except ValidationError as error:
        raise SpecError([_problem(where, item, plain) for item in error.errors(include_url=False)]) from None


def _problem(where: str, error: Any, plain: Plain) -> Problem:
    """One of pydantic's errors as a problem."""
    path = ".".join(str(name) for name in error["loc"])
    reason = "unknown key" if error["type"] == "extra_forbidden" else error["msg"].removeprefix("Value error, ")
    given = error["input"] if isinstance(error["input"], str | int | float) else None
    return Problem(f"{where}: {path}" if path else where, reason[0].lower() + reason[1:], value=given)
