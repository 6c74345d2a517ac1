"""What the values of a spec mean, as plain data, so that a stored run can be read without the code of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from fedradio.core.errors import SpecError
from fedradio.core.part_files import PartFile, part_files
from fedradio.core.registry import FAMILIES, PART_LISTS, part
from fedradio.spec.spec import COMPOSED, Spec
from fedradio.spec.yaml import Plain

if TYPE_CHECKING:
    from fedradio.core.contracts import Metric


def describe(spec: Spec) -> Plain:
    """The description of a spec.

    ``parts[family][kind]``: the ``summary`` of every part and, by keyword, its ``unit`` and meaning (``doc``);
    ``metrics[name]``: ``unit`` and direction (``better``, more or less) of every score of the spec's metrics;
    ``keys``: the meaning of the keys beside them, of the spec, of a ``hop``, its ``data`` and ``cache``;
    ``part_files``: the user's own files that parts came from, with their text.
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
            **({} if spec.plain.get("cache") is None else {"cache": _meanings(_inner(fields["cache"]))}),
        },
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


def _inner(field: Any) -> Mapping[str, Any]:
    """The keys of a mapping that may be null."""
    fields: Mapping[str, Any] = get_args(field.annotation)[0].model_fields
    return fields


def _meanings(fields: Mapping[str, Any]) -> dict[str, str]:
    return {key: field.description for key, field in fields.items() if key not in FAMILIES}
