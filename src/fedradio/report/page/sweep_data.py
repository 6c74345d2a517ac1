"""The data of a sweep's page: its variants, and of every run only what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio.core.progress import Progress, silent
from fedradio.report.page.numbers import AXIS_TITLES
from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.headline import facts
from fedradio.report.page.sections.learning import curve
from fedradio.report.style import Style, styles
from fedradio.results.run import Curve, Floats, PastRun, is_run, open_run
from fedradio.results.statistics import Interval, interval, paired
from fedradio.results.variants import Variant
from fedradio.sweeps.document import RUNS, read_sweep
from fedradio.sweeps.grid import GridVariant, SweepPlan

DRAWN = ("accuracy", "loss")
"""Metrics that a sweep's page draws."""


@dataclass(frozen=True)
class SweptRun:
    """What the page shows of a run: headline numbers, curves by metric and axis, joules by kind.

    ``client_j`` are joules of its clients, ``slot_j`` of its edge rounds; ``done`` rounds are on record.
    """

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
    """A variant with its runs by seed; None if a run has not begun."""

    identity: str
    grid: GridVariant
    style: Style
    runs: Mapping[int, SweptRun | None]

    @property
    def label(self) -> str:
        return self.grid.label

    @property
    def colour(self) -> str:
        return f"@{self.identity}"

    def complete(self) -> dict[int, SweptRun]:
        """The complete runs by seed."""
        return {seed: run for seed, run in self.runs.items() if run is not None and run.status == "complete"}

    def values(self, key: str) -> dict[int, float]:
        """A headline number of the complete runs that have it, by seed."""
        return {seed: run.facts[key] for seed, run in self.complete().items() if run.facts.get(key) is not None}

    def mean(self, key: str) -> Interval | None:
        """The mean of a headline number over complete runs; None if any of them lacks it."""
        values = self.values(key)
        return interval(list(values.values())) if values and len(values) == len(self.complete()) else None

    def against(self, other: SweptVariant, key: str) -> Interval | None:
        """The paired difference to another variant over common seeds."""
        return paired(self.values(key), other.values(key))


@dataclass(frozen=True)
class SweepData:
    """A sweep with everything that its page shows."""

    folder: Path
    plan: SweepPlan
    variants: Sequence[SweptVariant]

    def colours(self) -> dict[str, str]:
        """The colour of every variant by its identity."""
        return {variant.identity: variant.style.colour for variant in self.variants}


def read_sweep_data(folder: Path, progress: Progress = silent) -> SweepData:
    """The data of a sweep folder, read run after run."""
    plan = read_sweep(folder)
    looks = styles(
        [Variant(variant.label, str(variant.spec.plain["algorithm"]["kind"]), {}) for variant in plan.variants]
    )
    variants, done = [], 0
    for number, (grid, look) in enumerate(zip(plan.variants, looks, strict=True)):
        runs: dict[int, SweptRun | None] = {}
        for seed in grid.seeds:
            path = folder / RUNS / grid.folder(seed)
            runs[seed] = swept_run(open_run(path)) if is_run(path) else None
            done += 1
            progress(f"{grid.label}, seed {seed}", done / plan.runs)
        variants.append(SweptVariant(f"variant-{number}", grid, look, runs))
    return SweepData(folder, plan, variants)


def swept_run(run: PastRun) -> SweptRun:
    """What the page shows of a run."""
    data = RunData(run)
    curves = {
        (name, against): points
        for name in DRAWN
        for against in AXIS_TITLES
        if (points := curve(data, name, against)) is not None
    }
    return SweptRun(
        folder=run.folder,
        status=run.status,
        done=len(run.rounds),
        facts=facts(data),
        curves=curves,
        client_j={name: values.sum(axis=0) for name, values in data.joules.items()},
        slot_j={name: values.sum(axis=1) for name, values in data.joules.items()},
        environment=run.environment,
    )
