"""Specs: YAML or plain data in, a complete and checked description of one run out."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import yaml

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import MOST_NESTED, nested_deeper, read_bytes
from fedradio.core.registry import load_plugins
from fedradio.spec.defaults import with_defaults, without_defaults
from fedradio.spec.files import read_spec, row_of
from fedradio.spec.yaml import Plain, apply_overrides, parse_yaml, plain_copy

LOG = logging.getLogger(__name__)

COMPOSED = "composed"
"""Key of a spec that describes a simulation which was composed in Python."""


@dataclass(frozen=True)
class Spec:
    """A checked spec: plain data with every default filled in."""

    plain: Plain

    @property
    def name(self) -> str:
        return str(self.plain["name"])

    @property
    def seed(self) -> int:
        return int(self.plain["seed"])

    @property
    def world_seed(self) -> int:
        """The seed of places, devices, data and the law of requests: the spec's, or that of the run."""
        own = self.plain.get("world_seed")
        return self.seed if own is None else int(own)

    @property
    def rounds(self) -> int:
        return int(self.plain["rounds"])

    @property
    def eval_every(self) -> int:
        return int(self.plain["eval_every"])

    @property
    def edge_rounds(self) -> int:
        """Exchanges of hop 0 in a round."""
        return prod(hop["period"] for hop in self.plain["hops"])

    def sha256(self) -> str:
        """Fingerprint of everything that determines the run's results, without the keys that have their defaults."""
        what = {key: value for key, value in without_defaults(self.plain).items() if key not in ("name", "about")}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def yaml(self) -> str:
        return yaml.safe_dump(self.plain, sort_keys=False, default_flow_style=None, width=110)


def load_spec(source: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """A spec from a YAML file or the name of a shipped one, with ``key=value`` overrides."""
    plain = apply_overrides(read_spec(source), overrides)
    try:
        spec = check_spec(plain)
    except SpecError as error:
        row = None if overrides else row_of(source)
        if row is None:
            raise
        raise SpecError([replace(each, path=f"{row}: {each.path}") for each in error.problems]) from None
    LOG.debug("spec %s%s, fingerprint %s", source, "".join(f" {each}" for each in overrides), spec.sha256()[:12])
    return spec


def stored_spec(path: Path) -> Spec:
    """The complete spec that a run has stored, as plain data: neither its parts nor the schema are needed to read it.
    Keys that are newer than the run have their defaults.

    Raises :class:`StoreError` with the file for what is no complete spec.
    """
    try:
        plain = parse_yaml(read_bytes(path).decode(), str(path))
    except UnicodeDecodeError:
        raise StoreError(f"{path}: not UTF-8 text") from None
    except SpecError as error:
        raise StoreError("; ".join(map(str, error.problems))) from None
    return complete_spec(plain, path)


def complete_spec(plain: Mapping[str, Any], where: Path | str) -> Spec:
    """A spec with every default, from plain data of a file; raises :class:`StoreError` with all keys that are wrong."""
    if nested_deeper(plain, MOST_NESTED):
        raise StoreError(f"{where}: nested too deeply")
    if (wrong := next(_not_plain(plain), None)) is not None:
        raise StoreError(f"{where}: {wrong}: not plain data")
    if damaged := _damaged_keys(dict(plain)):
        raise StoreError(f"{where}: missing or damaged: {', '.join(damaged)}")
    return Spec(plain_copy(plain) if COMPOSED in plain else with_defaults(dict(plain)))


def _not_plain(value: Any, path: str = "") -> Iterator[str]:
    """Paths of values that JSON cannot hold: dates, infinite numbers, keys that are no text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [f"{path}{key}"] if not isinstance(key, str) else _not_plain(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _not_plain(inner, f"{path}{number}.")
    elif not (value is None or isinstance(value, (int, str)) or (isinstance(value, float) and math.isfinite(value))):
        yield path.removesuffix(".")


def _damaged_keys(plain: Plain) -> list[str]:
    """Keys that every complete spec has and this one lacks, or that hold something else than they must."""
    kinds = {"name": str, "about": str, "seed": int, "rounds": int, "eval_every": int, "hops": list, "data": dict}
    damaged = [key for key, kind in kinds.items() if type(plain.get(key)) is not kind]
    damaged += ["world_seed"] if type(plain.get("world_seed")) not in (int, type(None)) else []
    damaged += [key for key in ("topology", "model", "rule", "schedule", "algorithm") if not _is_part(plain.get(key))]
    if "data" not in damaged:
        data = plain["data"]
        damaged += [f"data.{key}" for key in ("source", "stream") if not _is_part(data.get(key))]
        damaged += [f"data.{key}" for key in ("partition",) if not _is_part_or_none(data, key)]
    if "hops" not in damaged:
        damaged += [] if plain["hops"] else ["hops"]
        hops = [hop if isinstance(hop, dict) else {} for hop in plain["hops"]]
        for h, hop in enumerate(hops):
            damaged += [f"hops.{h}.{key}" for key in ("link", "policy") if not _is_part(hop.get(key))]
            damaged += [f"hops.{h}.{key}" for key in ("channel", "fleet") if not _is_part_or_none(hop, key)]
            damaged += [f"hops.{h}.period"] if type(hop.get("period")) is not int else []
    return damaged


def _is_part_or_none(plain: Plain, key: str) -> bool:
    return key in plain and (plain[key] is None or _is_part(plain[key]))


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("kind"), str)


def check_spec(plain: Mapping[str, Any]) -> Spec:
    """Validate plain data; raises :class:`SpecError` with every problem of every field."""
    from pydantic import ValidationError  # here, so that whoever only reads specs does not wait for it

    from fedradio.spec.schema import spec_schema
    from fedradio.spec.validation import problems_of

    for failure in load_plugins():
        warnings.warn(failure, stacklevel=2)
    copied = plain_copy(plain)
    if COMPOSED in copied:
        reason = "this spec describes a simulation that was composed in Python and cannot be built from it"
        raise SpecError(Problem(COMPOSED, reason, "call fedradio.run(simulation, out, rounds=...) in Python"))
    try:
        model = spec_schema().model_validate_json(json.dumps(copied))
    except ValidationError as error:
        raise SpecError(problems_of(error, copied)) from None
    return Spec(model.model_dump(mode="json"))
