"""Runs grouped by what differs between their specs beside the seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedradio.core.errors import StoreError
from fedradio.results.run import PastRun
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import flatten


@dataclass(frozen=True)
class Variant:
    """Runs that differ in their seed alone, by seed. ``label`` tells them from the other variants."""

    label: str
    algorithm: str
    runs: Mapping[int, PastRun]


def variants(runs: Sequence[PastRun]) -> list[Variant]:
    """Group runs by everything but their seed. Labels are names where these tell variants apart, else what differs."""
    groups: dict[str, list[PastRun]] = {}
    for run in runs:
        plain = {key: value for key, value in run.spec.plain.items() if key not in ("seed", "about")}
        groups.setdefault(json.dumps(plain, sort_keys=True), []).append(run)
    _refuse_twins(groups.values())
    words = labels([group[0].spec for group in groups.values()])
    return [
        Variant(label, group[0].algorithm, {run.spec.seed: run for run in sorted(group, key=lambda run: run.spec.seed)})
        for label, group in zip(words, groups.values(), strict=True)
    ]


def _refuse_twins(groups: Iterable[Sequence[PastRun]]) -> None:
    """Runs of one spec and seed are the same run: in a mean it would count twice."""
    twins = []
    for group in groups:
        by_seed: dict[int, list[str]] = {}
        for run in group:
            by_seed.setdefault(run.spec.seed, []).append(str(run.folder))
        twins += [(seed, ", ".join(names)) for seed, names in by_seed.items() if len(names) > 1]
    if twins:
        raise StoreError("\n".join(f"runs of the same spec and seed {seed}, leave one: {them}" for seed, them in twins))


def labels(specs: Sequence[Spec]) -> list[str]:
    """Words that tell specs apart, whatever their seeds: their names, where these are the same what differs.

    Keywords of a part are told where they differ among parts of the same kind; otherwise the kind says enough.
    """
    groups: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        groups.setdefault(spec.name, []).append(number)
    found = [spec.name for spec in specs]
    for name, group in groups.items():
        if len(group) > 1:
            for number, words in zip(group, _differences([specs[one] for one in group]), strict=True):
                found[number] = words if len(groups) == 1 else f"{name}: {words}"
    return found


def _differences(specs: Sequence[Spec]) -> list[str]:
    flat = [dict(flatten(spec.plain)) for spec in specs]
    seen: dict[tuple[str, Any], set[str]] = {}
    keys = {key: None for one in flat for key in one if key not in ("seed", "about", "name")}
    for one in flat:
        for key in keys:
            seen.setdefault((key, _kind(one, key)), set()).add(json.dumps(one[key]) if key in one else "")
    told = [[key for key in keys if key in one and len(seen[key, _kind(one, key)]) > 1] for one in flat]
    return [
        ", ".join(f"{key.removesuffix('.kind')}={_short(one[key])}" for key in some)
        for one, some in zip(flat, told, strict=True)
    ]


def _kind(flat: Mapping[str, Any], key: str) -> Any:
    """The kind of the part whose keyword this is; None for kinds themselves and for what is no part's."""
    part, _, last = key.rpartition(".")
    return None if last == "kind" else flat.get(f"{part}.kind")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return json.dumps(value).strip('"')
