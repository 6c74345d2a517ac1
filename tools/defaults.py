"""Adds the defaults of new keys to the table that fingerprints are made with, ``src/fedradio/spec/defaults.json``.

A key that is in the table keeps its default for ever: this tool refuses to change one. Write another value into the
specs that want it, or give the key another name. Keys that are gone leave the table. ``--check`` only compares.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, get_args

from fedradio.core.registry import parts
from fedradio.spec.defaults import Table, without_defaults
from fedradio.spec.schema import part_schema, spec_schema

TABLE = Path(__file__).resolve().parents[1] / "src" / "fedradio" / "spec" / "defaults.json"


def today() -> dict[str, dict[str, Any]]:
    """The defaults of all keys of a spec, and of the keywords of all built-in parts, as the code has them."""
    spec = spec_schema()
    cache = get_args(spec.model_fields["cache"].annotation)[0]
    frames = {
        "cache": cache,
        "data": type(spec.model_fields["data"].default),
        "hops": type(spec.model_fields["hops"].default[0]),
        "spec": spec,
    }
    built_in = [part for part in parts() if part.factory.__module__.startswith("fedradio.")]
    table = {f"{part.family}/{part.kind}": _defaults(part_schema(part)) for part in built_in}
    for section, schema in frames.items():  # from the inside out: defaults that are parts are given without theirs
        defaults = _defaults(schema).items()
        table = {section: {key: without_defaults(value, table, key) for key, value in defaults}} | table
    return table


def changed(table: Table, now: Table) -> list[str]:
    """Keys of the table whose defaults are others now, which must not be."""
    return [
        f"{section}.{key}: {json.dumps(value)} is now {json.dumps(now[section][key])}"
        for section, keys in table.items()
        for key, value in keys.items()
        if key in now.get(section, {}) and now[section][key] != value
    ]


def text(table: Table) -> str:
    """The table as the text of its file: a line for every section."""
    lines = [f" {json.dumps(section)}: {json.dumps(keys)}" for section, keys in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _defaults(schema: Any) -> dict[str, Any]:
    """The defaults of the keys of a mapping, as plain data; of a part without its kind."""
    fields = {key: field for key, field in schema.model_fields.items() if key != "kind" and not field.is_required()}
    plain: dict[str, Any] = schema.model_construct().model_dump(mode="json", include=set(fields))
    return {key: plain[key] for key in fields}


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args(arguments).check
    stored, now = json.loads(TABLE.read_text(encoding="utf-8")), today()
    if wrong := changed(stored, now):
        print("\n".join(["the default of a released key never changes:", *wrong]))
        return 1
    if stored == now:
        return 0
    if check:
        print("the table of defaults lacks keys, or has keys that are gone: run python tools/defaults.py")
        return 1
    TABLE.write_text(text(now), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
