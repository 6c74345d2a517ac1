"""Adds the defaults of new keys to the table that fingerprints are made with, ``src/fedradio/spec/defaults.json``.

A key that is in the table keeps its default for ever: this tool refuses to change one. Write another value into the
specs that want it, or give the key another name. Keys that leave the code move to the section ``gone``, so that they
cannot return with another default. ``--check`` only compares. ``--against REV`` also compares with the table of a git
revision, such as the tag of a version: none of its keys may have another default now, or be lost.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

from fedradio.core.registry import parts
from fedradio.spec.defaults import Table, without_defaults
from fedradio.spec.schema import part_schema, spec_schema

ROOT = Path(__file__).resolve().parents[1]
PLACE = "src/fedradio/spec/defaults.json"
TABLE = ROOT / PLACE
GONE = "gone"
"""Section of the table with the defaults of keys that the code no longer has, by their sections."""


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


def updated(stored: Table, now: Table) -> dict[str, dict[str, Any]]:
    """The table for the code of today: its defaults, and ``gone``, the stored defaults of keys that it lacks."""
    gone: dict[str, dict[str, Any]] = {}
    for (section, key), value in sorted(released(stored).items()):
        if key not in now.get(section, {}):
            gone.setdefault(section, {})[key] = value
    return {section: dict(keys) for section, keys in now.items()} | {GONE: gone}


def released(table: Table) -> dict[tuple[str, str], Any]:
    """The defaults of all keys of a table by section and key, also of those that are gone."""
    sections = [*table.get(GONE, {}).items(), *((name, keys) for name, keys in table.items() if name != GONE)]
    return {(section, key): value for section, keys in sections for key, value in keys.items()}


def changed(table: Table, now: Table) -> list[str]:
    """Keys of the table whose defaults are others now, which must not be."""
    after = released(now)
    return [
        f"{section}.{key}: {json.dumps(value)} is now {json.dumps(after[section, key])}"
        for (section, key), value in released(table).items()
        if (section, key) in after and after[section, key] != value
    ]


def lost(table: Table, now: Table) -> list[str]:
    """Keys of the table that are neither keys now nor among those that are gone."""
    after = released(now)
    return [f"{section}.{key}: lost" for section, key in released(table) if (section, key) not in after]


def table_of(revision: str) -> Table | None:
    """The table of a git revision; None if there is none."""
    command = ["git", "-C", str(ROOT), "show", f"{revision}:{PLACE}"]
    shown = subprocess.run(command, capture_output=True, check=False)
    return None if shown.returncode else dict(json.loads(shown.stdout))


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
    parser.add_argument("--against", metavar="REV", help="git revision whose table is compared, too")
    options = parser.parse_args(arguments)
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    wanted = today()
    wrong = changed(stored, wanted)
    table = updated(stored, wanted)
    if options.against is not None:
        older = table_of(options.against)
        if older is None:
            parser.error(f"{options.against} is no git revision with a table of defaults")
        wrong += [f"{line} ({options.against})" for line in changed(older, table) + lost(older, table)]
    if wrong:
        print("\n".join(["the default of a released key never changes:", *wrong]))
        return 1
    if stored == table:
        return 0
    if options.check:
        print("the table of defaults lacks keys, or has keys that are gone: run python tools/defaults.py")
        return 1
    TABLE.write_text(text(table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
