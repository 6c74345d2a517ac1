"""A sweep as its page needs it: variants in their order, and of every run only what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio.report.page.numbers import AXIS_TITLES
from fedradio.report.page.run_data import Reading
from fedradio.report.page.sections.headline import facts
from fedradio.report.page.sections.learning import curve
from fedradio.report.style import Style, styles
from fedradio.results.run import Curve, Floats, PastRun, is_run, open_run
from fedradio.results.statistics import Interval, interval, paired
from fedradio.results.variants import Variant
from fedradio.sweeps.document import RUNS, read_sweep
from fedradio.sweeps.grid import GridVariant, SweepPlan

Tell = Callable[[str, float], None]
"""Is told what is being made, and the share that is done."""

DRAWN = ("accuracy", "loss")
"""Metrics that a sweep's page draws."""


@dataclass(frozen=True)
class Seen:
    """What is kept of a run: its headline, curves ``(metric, axis) -> curve``, and joules of its clients and of its
    edge rounds by kind. ``done`` rounds are on record."""

    folder: Path
    status: str
    done: int
    facts: Mapping[str, Any]
    curves: Mapping[tuple[str, str], Curve]
    client_j: Mapping[str, Floats]
    slot_j: Mapping[str, Floats]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class SweptVariant:
    """A variant with its runs by seed; None where a run has not begun."""

    identity: str
    grid: GridVariant
    style: Style
    runs: Mapping[int, Seen | None]

    @property
    def label(self) -> str:
        return self.grid.label

    @property
    def colour(self) -> str:
        return f"@{self.identity}"

    def complete(self) -> dict[int, Seen]:
        return {seed: run for seed, run in self.runs.items() if run is not None and run.status == "complete"}

    def values(self, key: str) -> dict[int, float]:
        """A number of every complete run that has it, by seed."""
        return {seed: run.facts[key] for seed, run in self.complete().items() if run.facts.get(key) is not None}

    def mean(self, key: str) -> Interval | None:
        """Over the complete runs; None where any of them does not define it."""
        found = self.values(key)
        return interval(list(found.values())) if found and len(found) == len(self.complete()) else None

    def against(self, other: SweptVariant, key: str) -> Interval | None:
        """The difference to another variant over the seeds that both have."""
        return paired(self.values(key), other.values(key))


@dataclass(frozen=True)
class Swept:
    """A sweep that was read."""

    folder: Path
    plan: SweepPlan
    variants: Sequence[SweptVariant]

    def colours(self) -> dict[str, str]:
        return {variant.identity: variant.style.colour for variant in self.variants}


def read(folder: Path, tell: Tell | None = None) -> Swept:
    """Read a sweep folder, run after run."""
    plan = read_sweep(folder)
    looks = styles(
        [Variant(variant.label, str(variant.spec.plain["algorithm"]["kind"]), {}) for variant in plan.variants]
    )
    variants, done = [], 0
    for number, (grid, look) in enumerate(zip(plan.variants, looks, strict=True)):
        runs: dict[int, Seen | None] = {}
        for seed in grid.seeds:
            place = folder / RUNS / grid.folder(seed)
            runs[seed] = seen(open_run(place)) if is_run(place) else None
            done += 1
            if tell is not None:
                tell(f"{grid.label}, seed {seed}", done / plan.runs)
        variants.append(SweptVariant(f"variant-{number}", grid, look, runs))
    return Swept(folder, plan, variants)


def seen(run: PastRun) -> Seen:
    data = Reading(run)
    curves = {
        (name, against): found
        for name in DRAWN
        for against in AXIS_TITLES
        if (found := curve(data, name, against)) is not None
    }
    return Seen(
        folder=run.folder,
        status=run.status,
        done=len(run.rounds),
        facts=facts(data),
        curves=curves,
        client_j={name: values.sum(axis=0) for name, values in data.joules.items()},
        slot_j={name: values.sum(axis=1) for name, values in data.joules.items()},
        environment=run.environment,
    )
