"""Shipped results: our numbers for published tables and figures, made once and kept in the package.

``published/results/<paper>/<item>.json`` holds a :class:`ShippedResult`: numbers by seed, verdicts, what is drawn, and
what they were made of. What the paper says is not repeated there: it is read from the item.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from fedradio.core.errors import StoreError
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import Entry, Result, RowResult
from fedradio.papers.form import Key, Text
from fedradio.papers.items import Column, Item
from fedradio.papers.make import load_specs
from fedradio.papers.plan import Reproduction, ScaledRow, Unit, plan_reproduction
from fedradio.papers.published import PAPERS
from fedradio.papers.scales import Scale
from fedradio.papers.tuning import tuned_entries
from fedradio.results.measures import is_first_round
from fedradio.spec.spec import Spec
from fedradio.spec.strict import Strict

FORMAT: Final = 1
"""Number of this form of files."""

NOWHERE = Path()
"""Shipped results have no run folders."""

Seed = Annotated[str, Field(pattern=r"^\d+$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Made(Strict):
    """Runs of a spec, or its studies, that a result was made of.

    ``spec_sha256`` is the fingerprint of the spec with seed 0; ``seeds`` are those that ended, ``cpu_s`` their CPU
    seconds, None if some of them were not counted.
    """

    label: Text
    spec_sha256: Sha256
    seeds: tuple[int, ...]
    wall_s: float
    cpu_s: float | None


class Numbers(Strict):
    """Our number in an entry by seed; ``lost``: why seeds have none."""

    values: dict[Seed, float] = Field(default_factory=dict)
    lost: dict[Seed, Reason] = Field(default_factory=dict)


class FoundTest(Strict):
    """What a test of a claim came to: mean, 95 % interval, that of the level that refutes the claim, verdict."""

    mean: float | None
    interval: tuple[float, float] | None
    corrected_interval: tuple[float, float] | None
    seeds: int
    verdict: Text


class FoundClaim(Strict):
    """The verdict on a claim, and what its tests came to."""

    id: Key
    verdict: Text
    tests: tuple[FoundTest, ...]


class ShippedResult(Strict):
    """A result of ours as it ships. ``picture`` is what is drawn, see :mod:`fedradio.papers.series`.

    ``superseded`` is a sentence on a result that today's version would not give again, and why. A result that is
    published anew has none.
    """

    format: Literal[1]
    paper: Text
    item: Text
    scale: Scale
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    command: Text
    fedradio: tuple[Text, ...]
    commits: tuple[Text, ...]
    python: tuple[Text, ...]
    packages: dict[str, tuple[Text, ...]]
    machines: tuple[Text, ...]
    made: tuple[Made, ...]
    left: tuple[Text, ...]
    rows: dict[str, dict[Key, Numbers]]
    claims: tuple[FoundClaim, ...]
    picture: dict[str, Any] | None
    superseded: Text | None = None

    @property
    def whole(self) -> bool:
        """Whether all of its runs and studies have been made, of every seed."""
        return not self.left and all(made.seeds == self.seeds for made in self.made)

    @property
    def wall_s(self) -> float:
        """Wall seconds of all its runs and studies."""
        return sum(made.wall_s for made in self.made)

    @property
    def cpu_s(self) -> float | None:
        """CPU seconds of all its runs and studies; None if some were not counted."""
        known = [made.cpu_s for made in self.made if made.cpu_s is not None]
        return sum(known) if len(known) == len(self.made) else None


def parse_shipped(text: str, where: str) -> ShippedResult:
    """A shipped result from its JSON; raises :class:`StoreError` with the first key that is wrong."""
    try:
        return ShippedResult.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(name) for name in first["loc"])
        raise StoreError(f"{where}: {key}: {first['msg']}" if key else f"{where}: {first['msg']}") from None


@functools.cache
def shipped_results() -> Mapping[tuple[str, str], ShippedResult]:
    """Every shipped result by paper and item."""
    root = resources.files("fedradio") / "published" / "results"
    files = [file for paper in PAPERS if (root / paper).is_dir() for file in _json_files(root / paper)]
    found = [parse_shipped(file.read_text(encoding="utf-8"), file.name) for file in files]
    return {(one.paper, one.item): one for one in found}


def _json_files(folder: Traversable) -> list[Traversable]:
    return sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)


def of_seeds(shipped: ShippedResult, seeds: Sequence[int]) -> ShippedResult | None:
    """The numbers of these seeds alone; None if the result has none of them."""
    chosen = tuple(seed for seed in shipped.seeds if seed in seeds)
    names = set(map(str, chosen))

    def of(numbers: Numbers) -> Numbers:
        values = {seed: value for seed, value in numbers.values.items() if seed in names}
        return Numbers(values=values, lost={seed: reason for seed, reason in numbers.lost.items() if seed in names})

    rows = {label: {key: of(numbers) for key, numbers in row.items()} for label, row in shipped.rows.items()}
    return shipped.model_copy(update={"seeds": chosen, "rows": rows}) if chosen else None


def is_begun(item: Item, shipped: ShippedResult) -> bool:
    """Whether a shipped result has runs or studies of the item's own rows, not of references alone."""
    made = {one.label for one in shipped.made}
    own = [scaled for scaled in planned(item, shipped).rows if not scaled.row.reference]
    return any(group(unit) in made for scaled in own for unit in scaled.units)


def planned(item: Item, shipped: ShippedResult) -> Reproduction:
    """The plan of the runs and studies that a shipped result is about, as the item has them today."""
    return plan_reproduction(item, shipped.scale, shipped.seeds, NOWHERE)


def restored(item: Item, shipped: ShippedResult) -> Result:
    """The result that a shipped file holds, beside the published numbers as the item has them today."""
    plan = planned(item, shipped)
    entries = {
        scaled.row.label: {
            key: _entry(scaled, key, column, shipped.rows.get(scaled.row.label, {}).get(key, Numbers()), shipped.seeds)
            for key, column in item.columns.items()
        }
        for scaled in plan.rows
    }
    made = {one.label: one for one in shipped.made}
    rows = tuple(_row(made, scaled) for scaled in plan.rows)
    return Result(plan, rows, tuple(tuned_entries(item, entries).values()))


def _entry(scaled: ScaledRow, key: str, column: Column, numbers: Numbers, seeds: Sequence[int]) -> Entry:
    """An entry of a shipped result. Where a run has ended without reaching a round, the spec says how long it was."""
    row = scaled.row
    values = {int(seed): value for seed, value in numbers.values.items()}
    lost = {int(seed): Absence(reason) for seed, reason in numbers.lost.items()}
    bounds: dict[int, float] = {}
    if column.study is None and is_first_round(column.measure) and scaled.runs:
        missing = [seed for seed in seeds if seed not in values and seed not in lost]
        is_about_it = not column.paired or row.other(key, column) is not None
        bounds = {seed: float(scaled.source.load(seed).rounds) for seed in missing if is_about_it}
    return Entry(column, row.published.get(key), values, lost, row.notes.get(key), bounds)


def _row(made: Mapping[str, Made], scaled: ScaledRow) -> RowResult:
    """What a row has: the seeds that ended count as studies without findings, for rows that have no numbers."""
    units = scaled.units
    ended = {unit.seed for unit in units if (one := made.get(group(unit))) is not None and unit.seed in one.seeds}
    lost = {unit.path: Absence(Reason.NOT_RUN) for unit in units if unit.seed not in ended}
    studies: dict[str, dict[int, dict[str, Any]]] = {"": {seed: {} for seed in sorted(ended)}} if ended else {}
    return RowResult(scaled, {}, studies, lost)


def group(unit: Unit) -> str:
    """What a unit is a run or study of: its label without the seed."""
    return unit.label.removesuffix(f" seed {unit.seed}")


def fingerprints(units: list[Unit]) -> dict[str, str]:
    """Fingerprints of the specs of these units as they are today, with seed 0, by :func:`group`."""
    first = {group(unit): unit for unit in reversed(units)}
    specs = load_specs(first.values())
    return {label: Spec(specs[unit.path].plain | {"seed": 0}).sha256() for label, unit in first.items()}


def outdated_parts(item: Item, shipped: ShippedResult) -> list[str]:
    """What a shipped result was not made of as the item has it today, as sentences; empty if it is up to date."""
    plan = planned(item, shipped)
    today = fingerprints(plan.units)
    stored = {made.label: made.spec_sha256 for made in shipped.made}
    changed = [label for label, sha256 in stored.items() if label in today and today[label] != sha256]
    problems = [f"{label}: its spec has changed" for label in changed]
    problems += [f"{label}: the item no longer has it" for label in stored if label not in today]
    problems += [f"{label}: not in the result" for label in today if label not in stored and label not in shipped.left]
    claims, found = [claim.id for claim in item.claims], [claim.id for claim in shipped.claims]
    problems += [f"claim {name}: not in the result" for name in claims if name not in found]
    return problems + [f"claim {name}: the item no longer has it" for name in found if name not in claims]
