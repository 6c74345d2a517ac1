"""Grids of specs: a spec, axes of values and seeds in; the variants of a sweep out, all of them checked."""

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
from fedradio.results.variants import labels
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import Plain, apply_overrides, parse_axis, plain_copy, read_spec

MOST_RUNS = 10_000
"""Of one sweep; more is a slip of the hand."""

LONGEST_STEM = 80

STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
"""What a stem is made of: it is the name of a folder and never leads out of the one above."""

HIGHEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class GridVariant:
    """One variant of a sweep: the keys that were set, the spec they make, its seeds, and how its run folders begin."""

    changes: Mapping[str, Any]
    spec: Spec
    seeds: tuple[int, ...]
    stem: str
    label: str = ""

    def at(self, seed: int) -> Spec:
        return Spec(self.spec.plain | {"seed": seed})

    def folder(self, seed: int) -> str:
        return f"{self.stem}-seed{seed}"

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of everything but the seed."""
        return self.at(0).sha256()


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep runs: the spec as it was given, axes with their values, seeds, and the variants they make."""

    name: str
    base: Plain
    axes: Mapping[str, Sequence[Any]]
    seeds: tuple[int, ...]
    variants: tuple[GridVariant, ...]

    @property
    def runs(self) -> int:
        return sum(len(variant.seeds) for variant in self.variants)

    def by_sha256(self) -> dict[str, GridVariant]:
        return {variant.sha256: variant for variant in self.variants}

    def holds(self, other: SweepPlan) -> bool:
        """Whether every run of the other plan is one of this."""
        mine = {(variant.sha256, seed) for variant in self.variants for seed in variant.seeds}
        return all((variant.sha256, seed) in mine for variant in other.variants for seed in variant.seeds)


def plan_sweep(
    source: str | Path, changes: Sequence[str] = (), *, seeds: Sequence[int] | None = None, rounds: int | None = None
) -> SweepPlan:
    """The product of all axes ``key=a,b`` in ``changes``, on the same seeds; ``key=a`` is set in all variants.

    Keys, types and bounds of every variant are checked; problems are collected and name their variants. Without
    ``seeds`` it is the spec's own.
    """
    base = plain_copy(read_spec(source))
    values = _values([*changes, *([] if rounds is None else [f"rounds={rounds}"])], seeds)
    axes = {key: found for key, found in values.items() if len(found) > 1}
    count = math.prod(map(len, axes.values())) * len(seeds or [0])
    if count > MOST_RUNS:
        raise SpecError(Problem("sweep", f"{count} runs", f"at most {MOST_RUNS}: fewer values or seeds"))
    points = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    specs = _checked(base, points, axes)
    chosen = (specs[0].seed,) if seeds is None else _checked_seeds(seeds)
    stems = _stems([{key: point[key] for key in axes} for point in points], specs[0].name)
    variants = [GridVariant(point, spec, chosen, stem) for point, spec, stem in zip(points, specs, stems, strict=True)]
    _refuse_twins(variants, axes)
    return SweepPlan(specs[0].name, base, axes, chosen, _labelled(variants))


def parse_seeds(text: str) -> tuple[int, ...]:
    """``5`` is the seeds 1 to 5; ``1,2,7`` and ``7,`` are those seeds."""
    try:
        found = [int(one) for one in text.removesuffix(",").split(",")]
    except ValueError:
        raise SpecError(_seed_problem("not seeds", text)) from None
    if "," in text:
        return _checked_seeds(found)
    if not 1 <= found[0] <= MOST_RUNS:
        raise SpecError(_seed_problem(f"how many seeds: 1 to {MOST_RUNS}", text))
    return tuple(range(1, found[0] + 1))


def _checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    if not seeds or len(set(seeds)) < len(seeds) or not all(0 <= one <= HIGHEST_SEED for one in seeds):
        raise SpecError(_seed_problem("seeds are different whole numbers from 0", list(seeds)))
    return tuple(seeds)


def _seed_problem(reason: str, given: Any) -> Problem:
    return Problem("--seeds", reason, "a number of seeds such as 5, or a list such as 1,2,7 or 7,", given)


def merged(there: SweepPlan, plan: SweepPlan) -> SweepPlan:
    """Both sweeps in one: what is there keeps its folders and goes first."""
    variants = there.by_sha256()
    for sha256, variant in plan.by_sha256().items():
        if sha256 in variants:
            variants[sha256] = replace(variants[sha256], seeds=_union(variants[sha256].seeds, variant.seeds))
        else:
            variants[sha256] = replace(variant, stem=_unique(variant.stem, [one.stem for one in variants.values()]))
    axes = {key: _union(there.axes.get(key, ()), plan.axes.get(key, ())) for key in {**there.axes, **plan.axes}}
    return replace(there, axes=axes, seeds=_union(there.seeds, plan.seeds), variants=_labelled(list(variants.values())))


def _union(some: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    return (*some, *(one for one in more if one not in some))


def _labelled(variants: Sequence[GridVariant]) -> tuple[GridVariant, ...]:
    """The variants with the words by which results tell them apart."""
    words = labels([variant.spec for variant in variants])
    return tuple(replace(variant, label=label) for variant, label in zip(variants, words, strict=True))


def _unique(stem: str, taken: Iterable[str]) -> str:
    """The stem, with a number behind it where a file system may take it for one of the others."""
    others = {one.casefold() for one in taken}
    numbers = (stem if number == 1 else f"{stem}-{number}" for number in itertools.count(1))
    return next(one for one in numbers if one.casefold() not in others)


def _values(changes: Sequence[str], seeds: Sequence[int] | None) -> dict[str, list[Any]]:
    """Values of every key in the order of the command; problems of all of them at once."""
    found: dict[str, list[Any]] = {}
    problems: list[Problem] = []
    for text in changes:
        try:
            key, values = parse_axis(text)
        except SpecError as error:
            problems += error.problems
            continue
        key = key.replace("[", ".").replace("]", "")
        if key in found:
            problems.append(Problem(key, "stands twice", f"all values in one place: {key}=a,b"))
        if key == "seed" and (seeds is not None or len(values) > 1):
            problems.append(Problem(key, "seeds are no axis: every variant has the same ones", "give them by --seeds"))
        if key in ("name", "about") and len(values) > 1:
            problems.append(Problem(key, "does not change a run, so it is no axis", f"one {key} for all"))
        found[key] = values or [None]
    if problems:
        raise SpecError(problems)
    return found


def _checked(base: Plain, points: Sequence[Mapping[str, Any]], axes: Mapping[str, Any]) -> list[Spec]:
    """The spec of every point."""
    specs, wrong = [], {}
    for point in points:
        texts = [f"{key}={json.dumps(value, default=str)}" for key, value in point.items()]
        try:
            specs.append(check_spec(apply_overrides(base, texts)))
        except SpecError as error:
            wrong[words(point, axes)] = error.problems
    if wrong:
        raise SpecError(named(wrong, len(points)))
    return specs


def words(point: Mapping[str, Any], axes: Iterable[str]) -> str:
    """Where a point stands on the axes, as it was given."""
    return ", ".join(f"{key}={_text(point[key])}" for key in axes)


def named(wrong: Mapping[str, Sequence[Problem]], variants: int) -> list[Problem]:
    """Problems of variants, each once, with the variants that have it; those of all variants without."""
    merged: dict[str, tuple[Problem, list[str]]] = {}
    for variant, problems in wrong.items():
        for problem in problems:
            merged.setdefault(str(problem), (problem, []))[1].append(variant)
    found = []
    for problem, where in merged.values():
        first = " and ".join(where[:2]) + (f" and {len(where) - 2} more" if len(where) > 2 else "")
        found.append(problem if len(where) == variants else replace(problem, path=f"{problem.path} [{first}]"))
    return found


def _refuse_twins(variants: Sequence[GridVariant], axes: Iterable[str]) -> None:
    """Two variants that are the same runs would make a sweep that looks larger than it is."""
    seen: dict[str, GridVariant] = {}
    problems = []
    for variant in variants:
        twin = seen.setdefault(variant.sha256, variant)
        if twin is not variant:
            here, there = words(variant.changes, axes), words(twin.changes, axes)
            problems.append(Problem(here, f"makes the same runs as {there}", "leave one of them out"))
    if problems:
        raise SpecError(problems)


def _stems(points: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Readable beginnings of folder names, safe on every file system, each once."""
    found: list[str] = []
    for point in points:
        text = "_".join(f"{_safe(key)}-{_safe(_text(value))}" for key, value in point.items()) or name
        if len(text) > LONGEST_STEM:
            text = f"{text[: LONGEST_STEM - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        found.append(_unique(text, found))
    return found


def _safe(text: str) -> str:
    """Letters, digits, dot, plus and minus; a dash for whatever else stands between them."""
    return "-".join(re.findall(r"[A-Za-z0-9.+-]+", text))


def _text(value: Any) -> str:
    """A value for people: parts by their kind and keywords, everything else as it was written."""
    if isinstance(value, Mapping) and "kind" in value:
        keywords = ", ".join(f"{key}={_text(inner)}" for key, inner in value.items() if key != "kind")
        return f"{value['kind']}({keywords})" if keywords else str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value, default=str)
