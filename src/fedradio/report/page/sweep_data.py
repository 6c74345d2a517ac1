"""The data of a sweep's page: its variants, and for every run only what is drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fedradio.core.progress import Progress, silent
from fedradio.report.charts.chart import Group
from fedradio.report.style import Style, styles
from fedradio.results.client_states import StateReader
from fedradio.results.compare import VariantNumbers
from fedradio.results.digest import Digest
from fedradio.results.quantities import of_runs
from fedradio.results.run import LeftOut, Run, open_listed
from fedradio.results.variants import Variant, shortened
from fedradio.sweeps.document import read_sweep
from fedradio.sweeps.grid import GridVariant, SweepPlan

PAGE_FILE = "report.html"
"""Usual name of a page in the folder of its run or sweep."""

NOTHING = Digest(StateReader(0).states())
"""The digest of a run that cannot be read."""


@dataclass(frozen=True)
class SweptRun:
    """What the page shows of a run: numbers by quantity, and its digest.

    ``done`` rounds are on record. Of a damaged run there is nothing but its ``trouble``. ``page`` is a link to its own
    page, empty if there is none.
    """

    folder: Path
    status: str
    done: int
    facts: Mapping[str, float | None]
    digest: Digest
    environment: Mapping[str, Any]
    trouble: str = ""
    page: str = ""


@dataclass(frozen=True)
class SweptVariant:
    """A variant with its runs by seed; None for runs that have not begun."""

    identity: str
    grid: GridVariant
    style: Style
    runs: Mapping[int, SweptRun | None]

    @property
    def label(self) -> str:
        return shortened(self.grid.label)

    @property
    def colour(self) -> str:
        return f"@{self.identity}"

    def complete(self) -> dict[int, SweptRun]:
        """The complete runs by seed."""
        return {seed: run for seed, run in self.runs.items() if run is not None and run.status == "complete"}

    @property
    def group(self) -> Group:
        """The complete runs as a line of charts."""
        return Group(self.label, self.style, [run.digest for run in self.complete().values()])

    @property
    def numbers(self) -> VariantNumbers:
        """The numbers of the complete runs."""
        return VariantNumbers({seed: run.facts for seed, run in self.complete().items()})


@dataclass(frozen=True)
class SweepData:
    """A sweep with everything that its page shows."""

    folder: Path
    plan: SweepPlan
    variants: Sequence[SweptVariant]

    def damaged(self) -> list[SweptRun]:
        """The runs that are damaged."""
        runs = [run for variant in self.variants for run in variant.runs.values()]
        return [run for run in runs if run is not None and run.trouble]

    def colours(self) -> dict[str, str]:
        """The colour of every variant by its identity."""
        return {variant.identity: variant.style.colour for variant in self.variants}


def read_sweep_data(folder: Path, progress: Progress = silent, beside: Path | None = None) -> SweepData:
    """The data of a sweep folder, read run after run; links lead from the folder ``beside``, by default the sweep's."""
    plan = read_sweep(folder)
    looks = styles(
        [Variant(variant.label, str(variant.spec.plain["algorithm"]["kind"]), {}) for variant in plan.variants]
    )
    variants, done = [], 0
    for number, (grid, look) in enumerate(zip(plan.variants, looks, strict=True)):
        runs: dict[int, SweptRun | None] = {}
        for seed in grid.seeds:
            found = _swept(open_listed(grid.listed(folder, seed)))
            runs[seed] = None if found is None else replace(found, page=_link(found.folder, beside or folder))
            done += 1
            progress(f"{grid.label}, seed {seed}", done / plan.runs)
        variants.append(SweptVariant(f"variant-{number}", grid, look, runs))
    return SweepData(folder, plan, variants)


def _link(run: Path, beside: Path) -> str:
    """A relative link to the page of a run folder; empty if it has none."""
    file = run / PAGE_FILE
    return quote(os.path.relpath(file, beside).replace(os.sep, "/")) if file.is_file() else ""


def _swept(run: Run | LeftOut) -> SweptRun | None:
    """What the page shows of a run that a sweep lists; None if it has not begun."""
    if isinstance(run, Run) and not run.damage:
        return swept_run(run)
    trouble = run.trouble if isinstance(run, Run) else run.status
    return None if trouble == "not begun" else SweptRun(Path(run.folder), "damaged", 0, {}, NOTHING, {}, trouble)


def swept_run(run: Run) -> SweptRun:
    """What the page shows of a run."""
    drawn = replace(run.digest, states=NOTHING.states, client_metrics={})  # of many runs, too large to keep
    facts = {each.name: each.of(run) for each in of_runs()}
    return SweptRun(run.folder, run.status, len(run.rounds), facts, drawn, run.environment)
