"""JSON Schema of a spec, with which editors complete keys, show their meaning and mark mistakes."""

from __future__ import annotations

from typing import Any

from fedradio.core.registry import FAMILIES, PART_LISTS, parts
from fedradio.spec.schema import spec_schema

BASE = {
    "base": {"type": "string", "description": "a shipped spec or a YAML file that this spec modifies"},
    "set": {"type": "object", "description": "dotted keys of the base with new values, such as {rule.lr: 0.05}"},
}


def json_schema() -> dict[str, Any]:
    """The schema of a spec as it is written by hand, with the parts that are registered now.

    A part is its kind's plain name, or a mapping of ``kind`` and keywords; without a kind, of the default's.
    """
    schema: dict[str, Any] = spec_schema().model_json_schema()
    for place in (schema, *(schema["$defs"][name] for name in ("Hop", "Data", "Cache"))):
        place["properties"] = {key: _written(key, value) for key, value in place["properties"].items()}
    schema["properties"] |= BASE
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "fedradio spec"}


def _written(key: str, plain: dict[str, Any]) -> dict[str, Any]:
    """A property with the short ways to write its value."""
    kept = {name: plain[name] for name in ("description", "default") if name in plain}
    if key in FAMILIES:
        nullable = any(each.get("type") == "null" for each in plain.get("anyOf", ()))
        return kept | {"anyOf": [*_ways(key), *([{"type": "null"}] if nullable else [])]}
    if key in PART_LISTS:
        limits: dict[str, Any] = {name: plain[name] for name in ("minItems", "maxItems") if name in plain}
        return kept | {"type": "array", "items": {"anyOf": _ways(PART_LISTS[key])}} | limits
    return plain


def _ways(family: str) -> list[dict[str, Any]]:
    """A kind's name, or any of the mappings."""
    known = parts(family)
    mappings = [{"$ref": f"#/$defs/{family}_{part.kind}"} for part in known]
    return [{"enum": [part.kind for part in known]}, *mappings]
