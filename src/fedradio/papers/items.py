"""Schema of a published table or figure, an *item*: its columns, rows, published numbers, and how to make ours.

``published/<paper>/<item>.yaml`` in the package holds an :class:`Item`: the quantities compared (columns), the systems
compared (rows), the published numbers, and for each scale the spec whose runs, or whose study, give ours.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from fedradio.core.errors import Problem, SpecError
from fedradio.papers.claims import Claim, claim_problems
from fedradio.papers.form import Key, Text
from fedradio.papers.scales import Scale
from fedradio.spec.spec import Spec, load_spec
from fedradio.spec.strict import Strict
from fedradio.spec.yaml import Plain, parse_yaml

Show = Literal["table", "curves", "cdf", "counts", "top", "map", "labels", "bars", "bound"]

Numbers = Annotated[tuple[float, ...], Field(min_length=1, max_length=2)]
"""A value, or a value and its deviation."""


class Axes(Strict):
    """The axes of curves: what was spent against a metric or ``energy_j``. ``legend`` is the column whose numbers stand
    behind the labels of the rows."""

    x: Literal["rounds", "edge_rounds", "seconds", "joules", "bits"] = "rounds"
    y: Key = "accuracy"
    legend: Key | None = None


class Column(Strict):
    """A quantity that is compared: a measure of runs, or a key of a study's finding.

    Some measures are about a row and the row that it is compared with, ``against``: ``ratio`` divides the measure
    ``of`` the row by that of the other, ``difference`` subtracts the other's from it, ``crossing`` is the round at
    which the row's accuracy meets the other's. A row can name its own ``against``.
    """

    title: Text
    measure: Text
    of: Text | None = None
    against: Text | None = None
    study: Key | None = None
    unit: str = ""
    digits: Annotated[int, Field(ge=0, le=9)] = 4
    within: Annotated[float, Field(ge=0)] | None = None
    within_share: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _pair(self) -> Column:
        if (self.of is not None) != (self.measure in ("difference", "ratio")):
            raise ValueError("ratio needs of, the measure that is divided (difference too), and nothing else has it")
        if self.against is not None and not self.paired:
            raise ValueError(f"against belongs to the measures {', '.join(PAIRED)}")
        if self.study is not None and self.paired and self.of is None:
            raise ValueError("crossing is a measure of runs, not of a study")
        return self

    @property
    def paired(self) -> bool:
        """Whether its numbers are about two rows."""
        return self.measure.partition("@")[0] in PAIRED

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


class Tuning(Strict):
    """Equal tuning: rows with ``best_of`` choose on this seed by the column ``by``; it is not among their seeds.

    ``lead`` is the column of the difference to the winner, which is at most 0 behind it.
    """

    seed: Annotated[int, Field(ge=1)]
    by: Key
    lead: Key


class Row(Strict):
    """A system that is compared. ``algorithm`` chooses the colour; ``notes`` are footnotes of entries, by column, and
    ``against`` the rows that it is compared with where the column's is another. A ``reference`` belongs to another
    item: by itself it is no result of this one. ``best_of`` are the candidates of a row that chooses its rate, see
    :mod:`fedradio.papers.tuning`; ``untuned`` is the row with the published rate."""

    label: Text
    algorithm: Key = "fedavg"
    reference: bool = False
    best_of: tuple[Text, ...] = ()
    untuned: Text | None = None
    published: dict[Key, Numbers] = Field(default_factory=dict)
    quick: Source
    paper: Source
    against: dict[Key, Text] = Field(default_factory=dict)
    notes: dict[Key, Text] = Field(default_factory=dict)

    def other(self, key: str, column: Column) -> str | None:
        """The row it is compared with in a column about two rows; None if there is none, or it is the row itself."""
        label = self.against.get(key, column.against)
        return None if label == self.label else label

    def source(self, scale: Scale) -> Source:
        return self.quick if scale == "quick" else self.paper


class Size(Strict):
    """The size of a scale: seeds 1 to ``seeds``, and what was made smaller."""

    seeds: Annotated[int, Field(ge=1, le=1000)]
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
    tuning: Tuning | None = None
    columns: dict[Key, Column] = Field(default_factory=dict)
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
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
        """Whether a row has an entry in a column: published or noted there, or published for no row, or nothing for
        this row, or a claim is about it; in a column about two rows, only if it has another."""
        if self.columns[key].paired and row.other(key, self.columns[key]) is None:
            return False
        if (
            key in row.published
            or key in row.notes
            or not row.published
            or not any(key in other.published for other in self.rows)
        ):
            return True
        return any(test.column == key and row.label in test.rows for claim in self.claims for test in claim.tests or ())

    def needs(self, row: Row, key: str) -> bool:
        """Whether a row's numbers are needed in a column: for its own entry, or because others are compared with it."""
        column = self.columns[key]
        compared = (other for other in self.rows if other.other(key, column) == row.label)
        return self.wants(row, key) or (column.paired and any(self.wants(other, key) for other in compared))

    def trains(self, row: Row) -> bool:
        """Whether a row needs runs; a row whose published numbers are all a study's is drawn as the study found."""
        if self.show == "top" and row.published and all(self.columns[key].study for key in row.published):
            return False
        return self.draws_runs or any(
            column.study is None and self.needs(row, key) for key, column in self.columns.items()
        )

    def studied(self, row: Row) -> tuple[str, ...]:
        """The studies that a row needs, each once."""
        drawn = [] if self.show in ("table", "bars") or self.draws_runs else [self.picture]
        compared = [column.study for key, column in self.columns.items() if self.needs(row, key)]
        return tuple(dict.fromkeys(name for name in (*drawn, *compared) if name is not None))


def _inconsistencies(item: Item) -> list[str]:
    """What does not fit together in an item, as sentences."""
    problems = [] if item.rows else ["no rows"]
    labels = [row.label for row in item.rows]
    problems += [f"two rows are named {label!r}" for label in dict.fromkeys(labels) if labels.count(label) > 1]
    for row in item.rows:
        keys = dict.fromkeys((*row.published, *row.notes, *row.against))
        problems += [f"row {row.label!r}: {key!r} is not a column" for key in keys if key not in item.columns]
        candidates = [*row.best_of, *([row.untuned] if row.untuned else [])]
        problems += [f"row {row.label!r}: {label!r} is not a row" for label in candidates if label not in labels]
        if row.best_of and (item.tuning is None or item.show != "table"):
            problems.append(f"row {row.label!r}: best_of needs tuning, and a table")
    for key, column in item.columns.items():
        named = [column.against, *(row.against.get(key) for row in item.rows)]
        others = dict.fromkeys(label for label in named if label is not None)
        problems += [f"column {key!r}: {label!r} is not a row" for label in others if label not in labels]
        if bool(others) != column.paired:
            reason = "needs against, a row to compare with" if column.paired else "is about one row: no against"
            problems.append(f"column {key!r} {reason}")
        compared = any(key in row.published for row in item.rows)
        if compared and column.within is None and column.within_share is None:
            problems.append(f"column {key!r} has published numbers: give within or within_share")
    tuned = [item.tuning.by, item.tuning.lead] if item.tuning else []
    problems += [f"tuning: {key!r} is not a column" for key in tuned if key not in item.columns]
    if (item.axes is None) == (item.show == "curves"):
        problems.append("axes belong to curves" if item.axes else "curves need axes")
    if item.axes is not None and item.axes.legend is not None and item.axes.legend not in item.columns:
        problems.append(f"axes: {item.axes.legend!r} is not a column")
    if item.show == "table" and not item.columns:
        problems.append("a table needs columns")
    if item.show in NEED_STUDY and item.picture is None:
        problems.append(f"{item.show} needs a study")
    return [*problems, *claim_problems(item.claims, item.columns, labels)]


PAIRED = ("crossing", "difference", "ratio")
"""Measures about two rows."""

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
