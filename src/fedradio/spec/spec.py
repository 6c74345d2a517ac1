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
from pydantic import ValidationError

from fedradio.core.errors import SpecError
from fedradio.core.registry import load_plugins
from fedradio.spec.schema import spec_schema
from fedradio.spec.validation import problems_of
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


def check_spec(plain: Mapping[str, Any]) -> Spec:
    """Validate plain data; raises :class:`SpecError` with every problem of every field."""
    for failure in load_plugins():
        warnings.warn(failure, stacklevel=2)
    copied = plain_copy(plain)
    try:
        model = spec_schema().model_validate_json(json.dumps(copied))
    except ValidationError as error:
        raise SpecError(problems_of(error, copied)) from None
    return Spec(model.model_dump(mode="json"))
