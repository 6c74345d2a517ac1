"""Specs: YAML or plain data in, a complete and checked description of one run out."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import load_plugins
from fedradio.spec.yaml import Plain, apply_overrides, plain_copy, read_spec


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
    def rounds(self) -> int:
        return int(self.plain["rounds"])

    @property
    def eval_every(self) -> int:
        return int(self.plain["eval_every"])

    def sha256(self) -> str:
        """Fingerprint of everything that determines the run's results."""
        what = {key: value for key, value in self.plain.items() if key not in ("name", "about")}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def yaml(self) -> str:
        return yaml.safe_dump(self.plain, sort_keys=False, default_flow_style=None, width=110)


def load_spec(source: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """A spec from a YAML file or the name of a shipped one, with ``key=value`` overrides."""
    return check_spec(apply_overrides(read_spec(source), overrides))


def stored_spec(path: Path) -> Spec:
    """The complete spec that a run has stored, as plain data: neither its parts nor the schema are needed to read it.

    Raises :class:`SpecError` with the file for what is no complete spec.
    """
    plain = read_spec(path)
    problems = [Problem(f"{path}: {key}", "is missing or damaged") for key in _damaged_keys(plain)]
    if problems:
        raise SpecError(problems)
    return Spec(plain)


def _damaged_keys(plain: Plain) -> list[str]:
    """Keys that every complete spec has and this one lacks, or that hold something else than they must."""
    kinds = {"name": str, "seed": int, "rounds": int, "eval_every": int, "hops": list, "data": dict}
    damaged = [key for key, kind in kinds.items() if not isinstance(plain.get(key), kind)]
    damaged += [key for key in ("topology", "model", "rule", "schedule", "algorithm") if not _is_part(plain.get(key))]
    if "data" not in damaged:
        damaged += [f"data.{key}" for key in ("source", "stream") if not _is_part(plain["data"].get(key))]
    if "hops" not in damaged:
        hops = [hop if isinstance(hop, dict) else {} for hop in plain["hops"]]
        damaged += [
            f"hops.{h}.{key}" for h, hop in enumerate(hops) for key in ("link", "policy") if not _is_part(hop.get(key))
        ]
        damaged += [f"hops.{h}.period" for h, hop in enumerate(hops) if not isinstance(hop.get("period"), int)]
    return damaged


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
    try:
        model = spec_schema().model_validate_json(json.dumps(copied))
    except ValidationError as error:
        raise SpecError(problems_of(error, copied)) from None
    return Spec(model.model_dump(mode="json"))
