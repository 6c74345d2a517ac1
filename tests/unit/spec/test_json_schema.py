"""The JSON Schema of specs: it takes what people write and what is shipped, and marks mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fedradio.core.registry import parts
from fedradio.spec.files import shipped, shipped_text
from fedradio.spec.json_schema import json_schema
from fedradio.spec.yaml import parse_yaml

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def mistakes(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """Paths of a value that a schema does not allow: a plain reading of the words that the schema uses."""
    if "$ref" in schema:
        yield from mistakes(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
        return
    ways = schema.get("anyOf") or schema.get("oneOf")
    if ways and all(list(mistakes(value, way, root, at)) for way in ways):
        yield at
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield at
    if not of_type(value, schema.get("type")):
        yield at
        return
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key, inner in value.items():
            if key in known:
                yield from mistakes(inner, known[key], root, f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{at}.{key}"
        yield from (f"{at}.{key}" for key in schema.get("required", ()) if key not in value)
    if isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from mistakes(inner, schema["items"], root, f"{at}.{number}")
    if out_of_bounds(value, schema):
        yield at


def of_type(value: Any, wanted: str | None) -> bool:
    fits = wanted is None or isinstance(value, TYPES[wanted])
    return fits and not (isinstance(value, bool) and wanted in ("integer", "number"))


def out_of_bounds(value: Any, schema: dict[str, Any]) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    below = value < schema.get("minimum", value) or value <= schema.get("exclusiveMinimum", value - 1)
    return bool(below or value > schema.get("maximum", value) or value >= schema.get("exclusiveMaximum", value + 1))


def marked(text: str) -> list[str]:
    schema = json_schema()
    return sorted(set(mistakes(parse_yaml(text, "mine"), schema, schema)))


def test_every_shipped_spec_fits_as_it_is_written() -> None:
    schema = json_schema()
    for name in shipped():
        assert list(mistakes(parse_yaml(shipped_text(name), name), schema, schema)) == [], name


@pytest.mark.parametrize(
    "text",
    [
        "algorithm: scaffold",
        "precision: bf16",
        "model: {hidden: [32]}",
        "hops: [{channel: null}]",
        "hops: [{transforms: [{kind: clip, norm: 1.0}, {kind: quantise, bits: 8}]}]",
        "{base: demo, set: {rule.lr: 0.05}}",
    ],
)
def test_short_ways_to_write_a_spec(text: str) -> None:
    assert marked(text) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("algorithm: scafold", ".algorithm"),
        ("algorithm: {kind: fedprox, nu: 1}", ".algorithm"),
        ("rule: {lr: fast}", ".rule"),
        ("rounds: 0", ".rounds"),
        ("precision: fp16", ".precision"),
        ("round: 5", ".round"),
        ("topology: null", ".topology"),
        ("hops: [{period: 0}]", ".hops.0.period"),
        ("data: {sources: digits}", ".data.sources"),
    ],
)
def test_mistakes_are_marked_at_their_place(text: str, where: str) -> None:
    assert marked(text) == [where]


def test_every_part_is_offered_with_the_meaning_of_its_keywords() -> None:
    schema = json_schema()
    for part in parts():
        known = schema["$defs"][f"{part.family}_{part.kind}"]["properties"]
        assert {each.name for each in part.parameters()} == known.keys() - {"kind"}
        assert all(known[each.name]["description"] for each in part.parameters())
