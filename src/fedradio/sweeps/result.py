"""The results of a sweep: how its runs ended, their means over the seeds, tables and a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Unpack

from fedradio.core.errors import DivergenceError, StoreError
from fedradio.core.lazy import offered
from fedradio.core.text import harmless, short_path
from fedradio.results import frames
from fedradio.results.compare import numbers_of
from fedradio.results.export import run_rows
from fedradio.results.export_rows import kind_of
from fedradio.results.figure_options import FigureOptions
from fedradio.results.quantities import of_variants
from fedradio.results.quantity import Quantity
from fedradio.results.run import LeftOut, Run, open_listed, undamaged
from fedradio.results.shown import html_table
from fedradio.results.statistics import Interval
from fedradio.results.sweep_file import MARKER, RUNS, is_sweep
from fedradio.sweeps.document import read_sweep
from fedradio.sweeps.grid import GridVariant, SweepPlan
from fedradio.sweeps.pool import Outcome, RunTask

Table = Literal["variants", "runs"] | frames.Table
"""Tables of a sweep: means of variants, runs, and all tables of their records."""

LONGEST_REASON = 120
"""Letters of a failure that the text of a sweep shows."""


@dataclass(frozen=True)
class VariantResult:
    """A variant over its complete runs: ``means`` by the name of the quantity, with intervals; None is undefined."""

    label: str
    seeds: int
    complete: int
    means: Mapping[str, Interval | None]

    @property
    def accuracy(self) -> Interval | None:
        return self.means["accuracy"]

    @property
    def rmse(self) -> Interval | None:
        return self.means["rmse"]


@dataclass(frozen=True, repr=False)
class Sweep:
    """The folder of a sweep and the outcomes of the runs that were asked for, those that failed included."""

    folder: Path
    outcomes: Sequence[Outcome]

    @property
    def exit_code(self) -> int:
        """0 where all is complete, else that of the first failure, else 3: some have diverged."""
        failed = [end.exit_code for end in self.outcomes if end.status not in ("complete", "diverged")]
        diverged = any(end.status == "diverged" for end in self.outcomes)
        return failed[0] if failed else DivergenceError.exit_code if diverged else 0

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes of all runs that are not complete: ``status``, ``error`` and ``task``; empty if all is well."""
        return [outcome for outcome in self.outcomes if outcome.status != "complete"]

    @cached_property
    def plan(self) -> SweepPlan:
        """What the folder holds, or will hold: variants, axes and seeds."""
        return read_sweep(self.folder)

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of the folder that can be read, complete or not, variant by variant."""
        return [run for run in self._listed.values() if isinstance(run, Run)]

    @cached_property
    def variants(self) -> list[VariantResult]:
        """Means of every variant over its complete runs."""
        return [_result(variant, self._listed) for variant in self.plan.variants]

    @cached_property
    def _listed(self) -> dict[tuple[str, int], Run | LeftOut]:
        """Every run that the folder lists, by the stem of its variant and its seed."""
        keys = [(variant, seed) for variant in self.plan.variants for seed in variant.seeds]
        return {(variant.stem, seed): open_listed(variant.listed(self.folder, seed)) for variant, seed in keys}

    def __repr__(self) -> str:
        return sweep_text(self)

    def _repr_html_(self) -> str:
        columns = of_variants()
        shown = [each for each in columns if any(row.means[each.name] is not None for row in self.variants)]
        rows = [
            [row.label, f"{row.complete}/{row.seeds}", *(_mean(each, row.means[each.name]) for each in shown)]
            for row in self.variants
        ]
        return html_table(sweep_text(self), ("variant", "seeds", *(each.heading for each in shown)), rows)

    def to_pandas(self, table: Table = "runs") -> Any:
        """A pandas DataFrame: all ``runs``, means of the ``variants``, or a table of records with the columns ``run``,
        ``label``, ``seed`` and the axes of the sweep in front. ``runs`` also lists those that failed, by ``status``."""
        if table == "variants":
            return _variants_frame(self.variants)
        if table == "runs":
            return _runs_frame(self)
        listed = [(run, head) for run, head in self._heads() if isinstance(run, Run) and not run.damage]
        return frames.frame([run for run, _ in listed], table, [head for _, head in listed])

    def plot(
        self,
        metric: str | None = None,
        against: str = "rounds",
        target: float | None = None,
        **options: Unpack[FigureOptions],
    ) -> Any:
        """Mean curves of the variants against rounds, seconds, joules or bits, as a matplotlib figure; ``options`` are
        those of :func:`fedradio.figures`, such as ``labels`` and ``order``."""
        return offered("plot")(self.runs, metric, against, target, **options)

    def _heads(self) -> list[tuple[Run | LeftOut, dict[str, Any]]]:
        """Every listed run with the columns that say which it is."""
        found = []
        for variant in self.plan.variants:
            axes = {key: variant.changes.get(key) for key in self.plan.axes}
            for seed in variant.seeds:
                head = {"run": variant.folder(seed), "label": variant.label, "seed": seed, **axes}
                found.append((self._listed[variant.stem, seed], head))
        return found


def open_sweep(folder: Path | str) -> Sweep:
    """The sweep of a folder as it is now; runs that are not complete are among its ``failed``."""
    folder = Path(folder)
    if not is_sweep(folder):
        raise StoreError(f"{folder} is not a sweep folder: it has no {MARKER}")
    empty = Sweep(folder, ())
    return Sweep(folder, [_outcome(folder, variant, seed, empty) for variant, seed in _all(empty.plan)])


def sweep_results(folder: Path) -> list[VariantResult]:
    """Results of every variant of a sweep, from its complete runs."""
    return Sweep(folder, ()).variants


def sweep_text(sweep: Sweep) -> str:
    """A sweep in two lines: its size and how its runs ended; its folder, and the first failure."""
    ended = ends_text(sweep) if sweep.failed else "all complete"
    variants = len({outcome.task.label.rpartition(", seed ")[0] for outcome in sweep.outcomes})
    size = f"{variants} variant{'s' * (variants != 1)}, {len(sweep.outcomes)} run{'s' * (len(sweep.outcomes) != 1)}"
    first = f"\n  {failure_text(sweep.failed[0])}" if sweep.failed else ""
    name = sweep.outcomes[0].task.spec.name if sweep.outcomes else sweep.folder.name
    return harmless(f"Sweep {name}: {size}, {ended}\n  in {short_path(sweep.folder)}{first}")


def ends_text(sweep: Sweep) -> str:
    """How many runs ended in which way, such as ``2 complete, 1 diverged``."""
    counts = Counter(outcome.status for outcome in sweep.outcomes)
    complete = counts.pop("complete", 0)
    return ", ".join([f"{complete} complete", *(f"{number} {status}" for status, number in counts.items())])


def failure_text(outcome: Outcome) -> str:
    """A run that is not complete in one line: which, how it ended, and why."""
    reason = ((outcome.error or "").strip().splitlines() or [""])[0]
    short = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 3]}..."
    return f"{outcome.status}: {outcome.task.label}" + (f": {short}" if short else "")


def _all(plan: SweepPlan) -> list[tuple[GridVariant, int]]:
    return [(variant, seed) for variant in plan.variants for seed in variant.seeds]


def _outcome(folder: Path, variant: GridVariant, seed: int, sweep: Sweep) -> Outcome:
    """How a stored run of a sweep has ended so far."""
    run = sweep._listed[variant.stem, seed]
    task = RunTask(variant.at(seed), folder / RUNS / variant.folder(seed), f"{variant.label}, seed {seed}")
    trouble = run.trouble if isinstance(run, Run) else run.status
    if run.status == "complete":
        return Outcome(task, "complete", None, fresh=False)
    diverged = run.status == "diverged"
    code = DivergenceError.exit_code if diverged else StoreError.exit_code if run.status == "damaged" else 1
    return Outcome(task, run.status, trouble if trouble != run.status else None, fresh=False, exit_code=code)


def _result(variant: GridVariant, listed: Mapping[tuple[str, int], Run | LeftOut]) -> VariantResult:
    runs = [run for seed in variant.seeds if isinstance(run := listed[variant.stem, seed], Run)]
    complete = [run for run in runs if run.status == "complete"]
    means = numbers_of({run.seed: run for run in complete}).means
    return VariantResult(variant.label, len(variant.seeds), len(complete), means)


def _mean(quantity: Quantity, mean: Interval | None) -> str:
    """A mean, of metrics with the half width of its interval."""
    if mean is None:
        return "-"
    half = f" \u00b1 {quantity.text(mean.half)}" if quantity.per == "evaluation" and mean.half is not None else ""
    return quantity.text(mean.mean) + half


def _variants_frame(results: Sequence[VariantResult]) -> Any:
    """One row a variant: how many of its seeds are complete; mean and ends of the interval of every quantity."""
    rows = []
    for result in results:
        row: dict[str, Any] = {"label": result.label, "seeds": result.seeds, "complete": result.complete}
        for name, mean in result.means.items():
            if mean is not None:
                row |= {name: mean.mean, f"{name}_low": mean.low, f"{name}_high": mean.high}
        rows.append(row)
    return frames.as_frame(rows, {name: kind_of(row.get(name) for row in rows) for row in rows for name in row})


def _runs_frame(sweep: Sweep) -> Any:
    """One row a run, with the axes and all numbers; runs that cannot be read have a status and nothing else."""
    runs = undamaged(sweep.runs)
    known = {run.folder.resolve(): row for run, row in zip(runs, run_rows(runs), strict=True)}
    rows = []
    for run, head in sweep._heads():
        row = known.get(Path(run.folder).resolve(), {}) if isinstance(run, Run) else {}
        told = {key: value for key, value in row.items() if not key.startswith("spec.")}
        rows.append(told | head | {"status": run.status})
    first = dict.fromkeys(sweep._heads()[0][1], object) if rows else {}
    names = {name: None for row in [{**dict.fromkeys(first), "status": None}, *rows] for name in row}
    kinds = {name: kind_of(row.get(name) for row in rows) for name in names}
    return frames.as_frame(rows, kinds | first)
