"""What the values of a spec mean, as plain data, so that a stored run can be read without the code of its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from fedradio.core.errors import FedradioError, SpecError
from fedradio.core.part_files import PartFile, part_files
from fedradio.core.registry import FAMILIES, PART_LISTS, part
from fedradio.spec.files import shipped, shipped_text
from fedradio.spec.spec import COMPOSED, Spec, load_spec
from fedradio.spec.yaml import Plain, flatten

if TYPE_CHECKING:
    from fedradio.core.contracts import Metric

MOST_OVERRIDES = 8
"""A shipped spec with more changes than this is no shorter way to say it."""


def describe(spec: Spec) -> Plain:
    """The description of a spec.

    ``parts[family][kind]``: the ``summary`` of every part and, by keyword, its ``unit`` and meaning (``doc``);
    ``metrics[name]``: ``unit`` and direction (``better``, more or less) of every score of the spec's metrics;
    ``keys``: the meaning of the keys beside them, of the spec, of a ``hop``, its ``data`` and ``cache``;
    ``shipped``: the arguments of ``fedradio run`` that make the same run from a shipped spec, null where there are
    none; ``part_files``: the user's own files that parts came from, with their text.
    """
    from fedradio.spec.schema import spec_schema

    fields = spec_schema().model_fields
    parts: Plain = {}
    for _, family, kind in named_parts(spec.plain):
        parts.setdefault(family, {})[kind] = _part(family, kind)
    return {
        "parts": parts,
        "metrics": {} if COMPOSED in spec.plain else _metrics(spec.plain["metrics"]),
        "keys": {
            "spec": _meanings(fields),
            "hop": _meanings(type(fields["hops"].default[0]).model_fields),
            "data": _meanings(type(fields["data"].default).model_fields),
            **({} if spec.plain.get("cache") is None else {"cache": _cache_meanings(fields["cache"])}),
        },
        "shipped": None if COMPOSED in spec.plain else from_shipped(spec),
        "part_files": [_part_file(file) for file in used_part_files(spec)],
    }


def used_part_files(spec: Spec) -> list[PartFile]:
    """The loaded files of the user's own that a spec takes parts from."""
    kinds = {(family, kind) for _, family, kind in named_parts(spec.plain)}
    return [file for file in part_files() if not kinds.isdisjoint(file.parts)]


def _part_file(file: PartFile) -> Plain:
    """A file of parts as plain data, without the folder in which it lay."""
    plain = {
        "name": file.path.name,
        "sha256": file.sha256,
        "parts": [list(each) for each in file.parts],
        "source": file.source,
    }
    return plain | ({"neighbours": [asdict(each) for each in file.neighbours]} if file.neighbours else {})


def from_shipped(spec: Spec) -> list[str] | None:
    """``[NAME, KEY=VALUE, ...]``: a shipped spec and the overrides that give the same fingerprint, where few do."""
    wanted = _leaves(spec.plain)
    candidates = [[name, *changes] for name in shipped_as(spec.name) if (changes := _changes(name, wanted)) is not None]
    shortest = min(candidates, key=len, default=None)
    if shortest is None:
        return None
    try:
        return shortest if load_spec(shortest[0], shortest[1:]).sha256() == spec.sha256() else None
    except FedradioError:  # a part of a package that is not installed here
        return None


def shipped_as(name: str) -> list[str]:
    """The shipped specs that give their runs this name; only those whose own name allows it are read."""
    near = (each for each in shipped() if name in (each.replace("/", "_"), each.rpartition("/")[2]))
    return [each for each in near if f"name: {name}\n" in shipped_text(each)]


def override_value(value: Any) -> str:
    """A value on a command line: a plain word as it is, everything else as JSON, which is YAML too."""
    plain = (
        isinstance(value, str) and value.isidentifier() and value.lower() not in ("null", "true", "false", "yes", "no")
    )
    return str(value) if plain else json.dumps(value)


def _leaves(plain: Plain) -> dict[str, Any]:
    """Values by dotted key; lists of parts, which differ in length, are values."""
    return dict(flatten(plain, whole=PART_LISTS))


def _changes(name: str, wanted: Mapping[str, Any]) -> list[str] | None:
    """Overrides that turn a shipped spec into the wanted one; None where there is no short list of them."""
    try:
        given = _leaves(load_spec(name).plain)
    except FedradioError:
        return None
    ignored = {"name", "about"}
    if given.keys() - wanted.keys() - ignored:
        return None
    differ = [key for key, value in wanted.items() if key not in ignored and (key not in given or given[key] != value)]
    return None if len(differ) > MOST_OVERRIDES else [f"{key}={override_value(wanted[key])}" for key in differ]


def named_parts(plain: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, family and kind of every part that a complete spec names."""
    inside = plain.items() if isinstance(plain, Mapping) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in inside:
        where = f"{path}{key}"
        if key in FAMILIES and isinstance(value, Mapping):
            yield where, key, str(value["kind"])
        elif key in PART_LISTS:
            yield from ((f"{where}.{i}", PART_LISTS[key], str(item["kind"])) for i, item in enumerate(value))
        else:
            yield from named_parts(value, f"{where}.")


def _part(family: str, kind: str) -> Plain:
    try:
        known = part(family, kind)
    except SpecError:  # a part of a package that is not installed here
        return {"summary": FAMILIES[family], "keywords": {}}
    keywords = {each.name: {"unit": each.arg.unit, "doc": each.arg.doc} for each in known.parameters()}
    return {"summary": known.summary.replace("``", ""), "keywords": keywords}


def _metrics(listed: Sequence[Plain]) -> dict[str, dict[str, str]]:
    """Unit and direction of every score; those of metrics that are not installed here are not known."""
    known: dict[str, dict[str, str]] = {}
    for plain in listed:
        try:
            factory = part("metric", plain["kind"]).factory
        except SpecError:
            continue
        metric: Metric = factory(**{key: value for key, value in plain.items() if key != "kind"})
        known |= {name: {"unit": metric.unit, "better": metric.better} for name in metric.names}
    return known


def _cache_meanings(field: Any) -> dict[str, str]:
    """The meaning of the keys of caches, those of prices under dotted names."""
    fields = get_args(field.annotation)[0].model_fields
    prices = _meanings(get_args(fields["prices"].annotation)[0].model_fields)
    return _meanings(fields) | {f"prices.{key}": meaning for key, meaning in prices.items()}


def _meanings(fields: Mapping[str, Any]) -> dict[str, str]:
    return {key: field.description for key, field in fields.items() if key not in FAMILIES}
