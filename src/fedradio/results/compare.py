"""Comparison of variants as plain data: means over seeds, paired differences, and the cost of reaching a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.results.caches import CacheRow, cache_rows
from fedradio.results.quantities import QUANTITIES, axes, entry, of_variants, spent
from fedradio.results.run import Curve, LeftOut, Run, undamaged
from fedradio.results.statistics import Band, Interval, band, mean_of, paired
from fedradio.results.variants import Variant, matching, variants
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import differing_keys


@dataclass(frozen=True)
class Row:
    """Results of a variant: complete seeds, final and best metric, costs, mean ``curve``."""

    label: str
    algorithm: str
    seeds: list[int]
    rounds: list[int]
    last: Interval | None
    best: Interval | None
    spent: dict[str, Interval | None]
    curve: list[float]


@dataclass(frozen=True)
class Difference:
    """Difference of a variant from the baseline over common seeds, and the keys that differ in worlds and models."""

    label: str
    seeds: list[int]
    last: Interval | None
    best: Interval | None
    worlds: list[str]
    models: list[str]


@dataclass(frozen=True)
class Reach:
    """The cost until the metric first reached the target: per seed (None: never), and means over those that did."""

    label: str
    seeds: dict[int, dict[str, float | None] | None]
    reached: int
    mean: dict[str, Interval | None]


@dataclass(frozen=True)
class Comparison:
    """A comparison of variants. ``rising``: a higher metric is better. ``reaches`` is empty without a target,
    ``caches`` without caches."""

    metric: str
    rising: bool
    baseline: str
    target: float | None
    rows: list[Row]
    differences: list[Difference]
    reaches: list[Reach]
    left_out: list[LeftOut]
    notes: list[str]
    caches: list[CacheRow]


@dataclass(frozen=True)
class VariantNumbers:
    """Numbers of the complete runs of a variant, by seed and by the name of the quantity; None is undefined."""

    seeds: Mapping[int, Mapping[str, float | None]]

    def values(self, name: str) -> dict[int, float]:
        """A number of the runs that define it, by seed."""
        return {seed: value for seed, each in self.seeds.items() if (value := each.get(name)) is not None}

    @property
    def means(self) -> dict[str, Interval | None]:
        """The mean of every number over the seeds."""
        return {each.name: self.mean(each.name) for each in of_variants()}

    def mean(self, name: str) -> Interval | None:
        """The mean of a number over the seeds; None unless all define it."""
        return mean_of(each.get(name) for each in self.seeds.values())

    def difference(self, other: VariantNumbers, name: str) -> Interval | None:
        """The paired difference from another variant over common seeds."""
        return paired(self.values(name), other.values(name))


def numbers_of(runs: Mapping[int, Run]) -> VariantNumbers:
    """The quantities of complete runs in which variants are compared."""
    return VariantNumbers({seed: {each.name: each.of(run) for each in of_variants()} for seed, run in runs.items()})


class Curved(Protocol):
    """A run, or its digest."""

    def curve(self, metric: str, against: str = "rounds") -> Curve | None: ...


def spent_until(run: Curved, metric: str, target: float, rising: bool = True) -> dict[str, float | None] | None:
    """The costs of a run up to its first evaluation that reaches the target: rounds, seconds, joules ...

    None if no evaluation reaches it.
    """
    rounds = run.curve(metric, "rounds")
    if rounds is None:
        return None
    hits = np.flatnonzero(rounds[1] >= target if rising else rounds[1] <= target)
    if not len(hits):
        return None
    curves = {each.name: run.curve(metric, each.name) for each in axes()}
    return {against: None if curve is None else float(curve[0][hits[0]]) for against, curve in curves.items()}


def compare(
    runs: Sequence[Run],
    metric: str | None = None,
    baseline: str | None = None,
    target: float | None = None,
    absent: Sequence[LeftOut] = (),
) -> Comparison:
    """Group runs into variants and compare them, by default their main score.

    ``baseline`` is a label or a part of one (default: the first variant with a complete run); ``absent`` runs are
    listed as left out beside those that are not complete. A damaged run makes no variant: its spec may be wrong.
    """
    damaged = [run for run in runs if run.damage]
    every = variants(undamaged(runs))
    done = [complete(variant) for variant in every]
    _refuse_nothing(done, damaged)
    metric = metric or main_metric(run for variant in done for run in variant.runs.values())
    _check(done, metric, baseline, target)
    base = next(variant for variant in done if variant.runs) if baseline is None else matching(done, baseline)[0]
    others = [variant for variant in done if variant is not base]
    rising = entry(metric, [run for variant in done for run in variant.runs.values()]).better != "less"
    return Comparison(
        metric=metric,
        rising=rising,
        baseline=base.label,
        target=target,
        rows=[_row(variant, metric, rising) for variant in done],
        differences=[_difference(variant, base, metric, rising) for variant in others],
        reaches=[] if target is None else [_reach(variant, metric, target, rising) for variant in done],
        left_out=[
            LeftOut(variant.label, seed, str(run.folder), run.status)
            for variant in every
            for seed, run in variant.runs.items()
            if run.status != "complete"
        ]
        + [LeftOut(run.spec.name, run.spec.seed, str(run.folder), run.trouble) for run in damaged]
        + list(absent),
        notes=[*_notes(done, base), *_changed_files(done)],
        caches=cache_rows(done),
    )


def main_metric(runs: Iterable[Run]) -> str:
    """The main score of these runs: that of the first one with a summary that was evaluated, or of the only one."""
    every = list(runs)
    told = [run for run in every if run.summary is not None]
    return next((run.main_score for run in (told if len(every) > 1 else every) if run.last), "accuracy")


def complete(variant: Variant) -> Variant:
    """The variant with only its complete runs."""
    return Variant(
        variant.label, variant.algorithm, {seed: run for seed, run in variant.runs.items() if run.status == "complete"}
    )


def bands(variants: Iterable[Variant], metric: str, against: str = "rounds") -> dict[str, Band]:
    """Mean curves over seeds, ``label -> band``, for the variants whose metric and axis are defined."""
    by_label = {}
    for variant in variants:
        curves = [run.curve(metric, against) for run in variant.runs.values()]
        known = [curve for curve in curves if curve is not None]
        if known and len(known) == len(curves):
            by_label[variant.label] = band(known)
    return by_label


def differing_worlds(spec: Spec, base: Spec) -> list[str]:
    """The keys in which the worlds of two specs differ: everything drawn from a seed except the learning."""
    return differing_keys(_world(base), _world(spec))


def _world(spec: Spec) -> dict[str, Any]:
    hops = [{name: hop[name] for name in ("channel", "fleet")} for hop in spec.plain["hops"]]
    drawn = {name: spec.plain.get(name) for name in ("world_seed", "topology", "data")}
    return drawn | {"hops": hops}


def _row(variant: Variant, metric: str, rising: bool) -> Row:
    """The results of a variant over its seeds."""
    numbers = numbers_of(variant.runs)
    mean = bands([variant], metric).get(variant.label)
    return Row(
        label=variant.label,
        algorithm=variant.algorithm,
        seeds=list(variant.runs),
        rounds=[len(run.rounds) for run in variant.runs.values()],
        last=mean_of(_ends(variant, metric, rising).values()),
        best=mean_of(_ends(variant, metric, rising, best=True).values()),
        spent={each.name: numbers.mean(each.name) for each in spent()},
        curve=[] if mean is None else mean.mean.tolist(),
    )


def _difference(variant: Variant, base: Variant, metric: str, rising: bool) -> Difference:
    """The paired difference of a variant from the baseline."""
    return Difference(
        label=variant.label,
        seeds=sorted(variant.runs.keys() & base.runs.keys()),
        last=paired(_ends(variant, metric, rising), _ends(base, metric, rising)),
        best=paired(_ends(variant, metric, rising, best=True), _ends(base, metric, rising, best=True)),
        worlds=_differing(variant, base, differing_worlds),
        models=_differing(variant, base, _differing_models),
    )


def _reach(variant: Variant, metric: str, target: float, rising: bool) -> Reach:
    """The cost at which the seeds of a variant reached the target."""
    seeds = {seed: spent_until(run, metric, target, rising) for seed, run in variant.runs.items()}
    reached = [amounts for amounts in seeds.values() if amounts is not None]
    mean = {each.name: mean_of(amounts[each.name] for amounts in reached) for each in axes()}
    return Reach(variant.label, seeds, len(reached), mean)


def _ends(variant: Variant, metric: str, rising: bool, best: bool = False) -> dict[int, float]:
    """The metric of every seed, at the last evaluation or at the best."""
    by_seed = {}
    for seed, run in variant.runs.items():
        y = [record.metrics[metric] for record in run.evaluations if metric in record.metrics]
        by_seed[seed] = y[-1] if not best else max(y) if rising else min(y)
    return by_seed


def _differing(variant: Variant, base: Variant, of: Callable[[Spec, Spec], list[str]]) -> list[str]:
    """The keys in which two variants differ in some aspect; none unless both have a run."""
    specs = [next(iter(each.runs.values())).spec for each in (variant, base) if each.runs]
    return of(*specs) if len(specs) == 2 else []


def _differing_models(spec: Spec, base: Spec) -> list[str]:
    """The keys in which the models of two specs differ."""
    return differing_keys({"model": base.plain["model"]}, {"model": spec.plain["model"]})


def _changed_files(variants: Iterable[Variant]) -> list[str]:
    """Files of parts, and files that specs name by path (data, channels), whose contents differ between runs."""
    of_parts: list[tuple[str, str]] = []
    of_data: list[tuple[str, str]] = []
    for run in (run for variant in variants for run in variant.runs.values()):
        mine = {file["name"]: file["sha256"] for of in run.part_files for file in (of, *of.get("neighbours", []))}
        of_parts += mine.items()
        of_data += [(path, sha256) for path, sha256 in run.environment.get("files", {}).items() if path not in mine]
    return [
        *(f"{name} changed between these runs, so they also differ in its parts" for name in _with_changes(of_parts)),
        *(f"{path} changed between these runs, so they do not use the same data" for path in _with_changes(of_data)),
    ]


def _with_changes(files: Iterable[tuple[str, str]]) -> list[str]:
    """The names that occur with more than one checksum."""
    checksums: dict[str, set[str]] = {}
    for name, sha256 in files:
        checksums.setdefault(name, set()).add(sha256)
    return [name for name, found in checksums.items() if len(found) > 1]


def _notes(done: Sequence[Variant], base: Variant) -> list[str]:
    """Caveats of a comparison: single seeds, missing runs, different seeds, rounds or versions."""
    notes = []
    alone = [variant.label for variant in done if len(variant.runs) == 1]
    if alone:
        notes.append(f"no confidence interval, because there is only one seed: {'; '.join(alone)}")
    empty = [variant.label for variant in done if not variant.runs]
    if empty:
        notes.append(f"no run is complete: {'; '.join(empty)}")
    unpaired = [v.label for v in done if v.runs and base.runs and not v.runs.keys() & base.runs.keys()]
    if unpaired:
        notes.append(f"no seed in common with {base.label}: {'; '.join(unpaired)}")
    seeds = {tuple(sorted(variant.runs)) for variant in done if variant.runs}
    if len(seeds) > 1:
        notes.append("rows use different seeds; paired differences use the seeds that both variants have")
    rounds = {variant.label: {len(run.rounds) for run in variant.runs.values()} for variant in done if variant.runs}
    if len(set().union(*rounds.values())) > 1:
        listed = "; ".join(f"{label} {', '.join(map(str, sorted(made)))}" for label, made in rounds.items())
        notes.append(f"different numbers of rounds: {listed}")
    idle = [v.label for v in done if any(QUANTITIES["clients"].of(run) == 0 for run in v.runs.values())]
    if idle:
        notes.append(f"no client took part in: {'; '.join(idle)}")
    versions = {run.environment.get("fedradio", "unknown") for variant in done for run in variant.runs.values()}
    if len(versions) > 1:
        notes.append(f"made by different versions of fedradio: {', '.join(sorted(versions))}")
    return notes


def _refuse_nothing(done: Sequence[Variant], damaged: Sequence[Run]) -> None:
    """Refuse a comparison without any complete run, naming damaged runs, which may be the reason."""
    if not any(variant.runs for variant in done):
        reasons = "".join(f"\n{run.folder} is {run.trouble}" for run in damaged)
        raise StoreError(f"no run is complete, so there is nothing to compare{reasons}")


def _check(done: Sequence[Variant], metric: str, baseline: str | None, target: float | None) -> None:
    """Report all problems with a requested comparison together."""
    problems = metric_problems(done, metric)
    if baseline is not None and len(matches := matching(done, baseline)) != 1:
        known = [variant.label for variant in matches or done]
        reason = "several variants match" if matches else "no such variant"
        remedy = f"one of: {'; '.join(known)}" if matches else suggest(baseline, known) or f"one of: {'; '.join(known)}"
        problems.append(Problem("--baseline", reason, remedy, baseline))
    if target is not None and not math.isfinite(target):
        problems.append(Problem("--target", "not a finite number", "such as 0.9", target))
    elif target is not None and entry(metric).format == "percent" and not 0 <= target <= 1:
        problems.append(Problem("--target", "accuracies are between 0 and 1", "such as 0.9 for 90 %", target))
    if problems:
        raise SpecError(problems)


def metric_problems(done: Sequence[Variant], metric: str) -> list[Problem]:
    """The problem if some complete run lacks the metric; empty if all have it."""
    known = {variant.label: [run.metrics() for run in variant.runs.values()] for variant in done if variant.runs}
    lists = [names for of_runs in known.values() for names in of_runs]
    lacking = [label for label, of_runs in known.items() if any(metric not in names for names in of_runs)]
    if not lacking:
        return []
    common = [name for name in lists[0] if all(name in names for names in lists)]
    everyone = f"available in all runs: {', '.join(common)}" if common else "these runs have no metric in common"
    if len(lacking) == len(known):
        every = list(dict.fromkeys(name for names in lists for name in names))
        return [Problem("--metric", "not measured in these runs", suggest(metric, every) or everyone, metric)]
    return [Problem("--metric", f"not measured in: {'; '.join(lacking)}", everyone, metric)]
