"""The grid of a sweep: every combination of values of a spec, on the same seeds, checked before anything runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError
from fedradio.core.text import numbered_names
from fedradio.results.sweep_file import RUNS, ListedRun
from fedradio.results.variants import labels
from fedradio.spec.files import read_spec
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import Plain, apply_overrides, parse_axis, plain_copy

MOST_RUNS = 10_000
"""Largest number of runs of one sweep; more is taken for a typing error."""

LONGEST_STEM = 80
"""Letters of a stem; longer ones are cut and get a hash."""

HIGHEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class GridVariant:
    """A variant of a sweep: the keys that were set, the resulting spec, its seeds; ``stem`` begins its run folders."""

    changes: Mapping[str, Any]
    spec: Spec
    seeds: tuple[int, ...]
    stem: str
    label: str = ""

    def at(self, seed: int) -> Spec:
        """The spec with this seed."""
        return Spec(self.spec.plain | {"seed": seed})

    def folder(self, seed: int) -> str:
        """Name of the run folder of this seed."""
        return f"{self.stem}-seed{seed}"

    def listed(self, sweep: Path, seed: int) -> ListedRun:
        """The run of this seed, in the folder of a sweep."""
        return ListedRun(sweep / RUNS / self.folder(seed), self.label, self.at(seed))

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of everything but the seed."""
        return self.at(0).sha256()


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep runs: the spec as given (``base``), the axes with their values, the seeds, and all variants."""

    name: str
    base: Plain
    axes: Mapping[str, Sequence[Any]]
    seeds: tuple[int, ...]
    variants: tuple[GridVariant, ...]

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(len(variant.seeds) for variant in self.variants)

    def by_sha256(self) -> dict[str, GridVariant]:
        """The variants by their fingerprints."""
        return {variant.sha256: variant for variant in self.variants}

    def holds(self, other: SweepPlan) -> bool:
        """Whether every run of the other plan is one of this."""
        mine = {(variant.sha256, seed) for variant in self.variants for seed in variant.seeds}
        return all((variant.sha256, seed) in mine for variant in other.variants for seed in variant.seeds)


def plan_sweep(
    source: str | Path, changes: Sequence[str] = (), *, seeds: Sequence[int] | None = None, rounds: int | None = None
) -> SweepPlan:
    """Plan a sweep over the product of all axes ``key=a,b`` in ``changes``; ``key=a`` is set in all variants.

    Keys, types and bounds of every variant are checked; problems are collected and name their variants. Without
    ``seeds`` the only seed is the spec's own.
    """
    base = plain_copy(read_spec(source))
    values = _values([*changes, *([] if rounds is None else [f"rounds={rounds}"])], seeds)
    axes = {key: options for key, options in values.items() if len(options) > 1}
    count = math.prod(map(len, axes.values())) * len(seeds or [0])
    if count > MOST_RUNS:
        raise SpecError(
            Problem("sweep", f"{count} runs", f"use fewer values or seeds: at most {MOST_RUNS} runs are allowed")
        )
    points = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    specs = _checked(base, points, axes)
    chosen = (specs[0].seed,) if seeds is None else _checked_seeds(seeds)
    stems = _stems([{key: point[key] for key in axes} for point in points], specs[0].name)
    variants = [GridVariant(point, spec, chosen, stem) for point, spec, stem in zip(points, specs, stems, strict=True)]
    _refuse_twins(variants, axes)
    return SweepPlan(specs[0].name, base, axes, chosen, _labelled(variants))


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from text: ``5`` is the seeds 1 to 5; ``1,2,7`` and ``7,`` are these seeds."""
    try:
        numbers = [int(number) for number in text.removesuffix(",").split(",")]
    except ValueError:
        raise SpecError(_seed_problem("not seeds", text)) from None
    if "," in text:
        return _checked_seeds(numbers)
    if not 1 <= numbers[0] <= MOST_RUNS:
        raise SpecError(_seed_problem(f"the number of seeds must be 1 to {MOST_RUNS}", text))
    return tuple(range(1, numbers[0] + 1))


def _checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    if not seeds or len(set(seeds)) < len(seeds) or not all(0 <= seed <= HIGHEST_SEED for seed in seeds):
        raise SpecError(_seed_problem("seeds must be distinct whole numbers from 0", list(seeds)))
    return tuple(seeds)


def _seed_problem(reason: str, given: Any) -> Problem:
    return Problem("--seeds", reason, "give a number of seeds such as 5, or a list such as 1,2,7 or 7,", given)


def merged(stored: SweepPlan, plan: SweepPlan) -> SweepPlan:
    """A stored sweep extended by a plan: stored variants keep their folders and go first."""
    variants = stored.by_sha256()
    for sha256, variant in plan.by_sha256().items():
        if sha256 in variants:
            variants[sha256] = replace(variants[sha256], seeds=_union(variants[sha256].seeds, variant.seeds))
        else:
            variants[sha256] = replace(variant, stem=_unique(variant.stem, [other.stem for other in variants.values()]))
    keys = {**stored.axes, **plan.axes}
    axes = {key: _union(stored.axes.get(key, ()), plan.axes.get(key, ())) for key in keys}
    return replace(
        stored, axes=axes, seeds=_union(stored.seeds, plan.seeds), variants=_labelled(list(variants.values()))
    )


def _union(first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, ...]:
    """The values of both in order, each once."""
    return (*first, *(value for value in second if value not in first))


def _labelled(variants: Sequence[GridVariant]) -> tuple[GridVariant, ...]:
    """The variants with the labels that tell them apart in results."""
    names = labels([variant.spec for variant in variants])
    return tuple(replace(variant, label=label) for variant, label in zip(variants, names, strict=True))


def _unique(stem: str, taken: Iterable[str]) -> str:
    """The stem, with a number appended if a file system may confuse it with one that is taken."""
    others = {other.casefold() for other in taken}
    return next(name for name in numbered_names(stem) if name.casefold() not in others)


def _values(changes: Sequence[str], seeds: Sequence[int] | None) -> dict[str, list[Any]]:
    """The values of every key, in the order given; raises the problems of all of them at once."""
    by_key: dict[str, list[Any]] = {}
    problems: list[Problem] = []
    for text in changes:
        try:
            key, values = parse_axis(text)
        except SpecError as error:
            problems += error.problems
            continue
        key = key.replace("[", ".").replace("]", "")
        if key in by_key:
            problems.append(Problem(key, "appears twice", f"put all values in one place: {key}=a,b"))
        if key == "seed" and (seeds is not None or len(values) > 1):
            problems.append(
                Problem(key, "the seed cannot be an axis: every variant uses the same seeds", "set them with --seeds")
            )
        if key in ("name", "about") and len(values) > 1:
            problems.append(
                Problem(key, "does not change the results, so it cannot be an axis", f"use one {key} for all runs")
            )
        by_key[key] = values or [None]
    if problems:
        raise SpecError(problems)
    return by_key


def _checked(base: Plain, points: Sequence[Mapping[str, Any]], axes: Mapping[str, Any]) -> list[Spec]:
    """The spec of every point of the grid, checked; raises the problems of all points at once."""
    specs, wrong = [], {}
    for point in points:
        texts = [f"{key}={json.dumps(value, default=str)}" for key, value in point.items()]
        try:
            specs.append(check_spec(apply_overrides(base, texts)))
        except SpecError as error:
            wrong[place(point, axes)] = error.problems
    if wrong:
        raise SpecError(merged_problems(wrong, len(points)))
    return specs


def place(point: Mapping[str, Any], axes: Iterable[str]) -> str:
    """The place of a point in the grid, as text: its values on the axes as they were given."""
    return ", ".join(f"{key}={_text(point[key])}" for key in axes)


def merged_problems(wrong: Mapping[str, Sequence[Problem]], variants: int) -> list[Problem]:
    """The problems of some variants, given by place: each once, with its places unless all variants have it."""
    by_text: dict[str, tuple[Problem, list[str]]] = {}
    for variant, problems in wrong.items():
        for problem in problems:
            by_text.setdefault(str(problem), (problem, []))[1].append(variant)
    merged = []
    for problem, where in by_text.values():
        first = " and ".join(where[:2]) + (f" and {len(where) - 2} more" if len(where) > 2 else "")
        merged.append(problem if len(where) == variants else replace(problem, path=f"{problem.path} [{first}]"))
    return merged


def _refuse_twins(variants: Sequence[GridVariant], axes: Iterable[str]) -> None:
    """Refuse variants that are the same runs: the sweep would look larger than it is."""
    seen: dict[str, GridVariant] = {}
    problems = []
    for variant in variants:
        twin = seen.setdefault(variant.sha256, variant)
        if twin is not variant:
            same = f"makes the same runs as {place(twin.changes, axes)}"
            problems.append(Problem(place(variant.changes, axes), same, "leave one of them out"))
    if problems:
        raise SpecError(problems)


def _stems(points: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """A unique stem for every point of the grid: readable, and safe on every file system."""
    stems: list[str] = []
    for point in points:
        text = "_".join(f"{_safe(key)}-{_safe(_text(value))}" for key, value in point.items()) or name
        if len(text) > LONGEST_STEM:
            text = f"{text[: LONGEST_STEM - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        stems.append(_unique(text, stems))
    return stems


def _safe(text: str) -> str:
    """Text reduced to letters, digits, dot, plus and minus; anything else becomes a dash."""
    return "-".join(re.findall(r"[A-Za-z0-9.+-]+", text))


def _text(value: Any) -> str:
    """A value as readable text: parts by kind and keywords, anything else as JSON."""
    if isinstance(value, Mapping) and "kind" in value:
        keywords = ", ".join(f"{key}={_text(inner)}" for key, inner in value.items() if key != "kind")
        return f"{value['kind']}({keywords})" if keywords else str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value, default=str)
