"""Variants: groups of runs that differ only in their seed, and labels that distinguish them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedradio.results.run import Run
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import flatten


@dataclass(frozen=True)
class Variant:
    """Runs that differ only in their seed, by seed; ``label`` is unique among the variants."""

    label: str
    algorithm: str
    runs: Mapping[int, Run]


def variants(runs: Sequence[Run]) -> list[Variant]:
    """The labelled variants of some runs, grouped by everything in their specs except the seed.

    No run counts twice in a mean: repeated runs with the same spec and seed become separate variants.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        plain = {key: value for key, value in run.spec.plain.items() if key not in ("seed", "about")}
        groups.setdefault(json.dumps(plain, sort_keys=True), []).append(run)
    names = labels([group[0].spec for group in groups.values()])
    return [
        Variant(own, copy[0].algorithm, {run.spec.seed: run for run in sorted(copy, key=lambda run: run.spec.seed)})
        for label, group in zip(names, groups.values(), strict=True)
        for own, copy in _copies(label, group)
    ]


def _copies(label: str, group: Sequence[Run]) -> list[tuple[str, list[Run]]]:
    """Runs of one spec, each seed once, with a label; runs of the same seed are copies, told apart by their folders."""
    copies: list[list[Run]] = []
    for run in group:
        free = (copy for copy in copies if all(run.spec.seed != other.spec.seed for other in copy))
        copy = next(free, None)
        copies += [[run]] if copy is None else []
        if copy is not None:
            copy.append(run)
    if len(copies) == 1:
        return [(label, copies[0])]
    places = [os.path.commonpath([os.path.abspath(run.folder) for run in copy]) for copy in copies]
    if len({*places}) < len(places):
        return [(f"{label}, copy {number}", copy) for number, copy in enumerate(copies, 1)]
    return [
        (f"{label} in {min(place, os.path.relpath(place), key=len)}", copy)
        for place, copy in zip(places, copies, strict=True)
    ]


def matching(every: Sequence[Variant], words: str) -> list[Variant]:
    """The variant with that label, or those whose label or algorithm contains all of these words."""
    exact = [variant for variant in every if variant.label == words]
    wanted = pieces(words)
    return exact or [variant for variant in every if wanted <= pieces(variant.label) | {variant.algorithm}]


def pieces(label: str) -> set[str]:
    """The ``key=value`` pieces of a label, in any order."""
    return {shortened(piece.strip()) for piece in label.replace(": ", ", ").split(", ")}


def shortened(label: str) -> str:
    """A label for legends, without the word ``algorithm``, which names of algorithms and keywords make redundant."""
    return re.sub(r"(^|[ :])algorithm[=.]", r"\1", label)


def labels(specs: Sequence[Spec]) -> list[str]:
    """A label for each spec, ignoring its seed: its name and, where names are equal, the keys that differ.

    Keywords of a part are listed if they differ among parts of the same kind; otherwise the kind says enough.
    """
    groups: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        groups.setdefault(spec.name, []).append(number)
    unique = [spec.name for spec in specs]
    for name, group in groups.items():
        if len(group) > 1:
            for number, text in zip(group, _differences([specs[number] for number in group]), strict=True):
                unique[number] = text if len(groups) == 1 else f"{name}: {text}"
    return unique


def _differences(specs: Sequence[Spec]) -> list[str]:
    """For each spec, its values of the keys by which the specs differ."""
    flat = [dict(flatten(spec.plain)) for spec in specs]
    seen: dict[tuple[str, Any], set[str]] = {}
    keys = {key: None for values in flat for key in values if key not in ("seed", "about", "name")}
    for values in flat:
        for key in keys:
            seen.setdefault((key, _kind(values, key)), set()).add(json.dumps(values[key]) if key in values else "")
    differing = [[key for key in keys if key in values and len(seen[key, _kind(values, key)]) > 1] for values in flat]
    return [
        ", ".join(f"{key.removesuffix('.kind')}={_short(values[key])}" for key in own)
        for values, own in zip(flat, differing, strict=True)
    ]


def _kind(flat: Mapping[str, Any], key: str) -> Any:
    """The kind of the part that a keyword belongs to; None for kinds themselves and for keys outside of parts."""
    part, _, last = key.rpartition(".")
    return None if last == "kind" else flat.get(f"{part}.kind")


def _short(value: Any) -> str:
    """A value as a short text without loss of precision."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return json.dumps(value).strip('"')
