"""Defaults of the keys of a spec, from a table that only grows: what fingerprints leave out.

``defaults.json`` has the defaults of the spec, of a hop, of its data, of its cache, and of the keywords of every
built-in part (``family/kind``). The section ``gone`` has the defaults of removed keys, which must not return with
others. A fingerprint leaves out every key that has its default: a new key with a neutral default changes no
fingerprint, and the default of a released key must never change. Parts of the user's own are not in the table: all
their keywords count. ``tools/defaults.py`` adds new keys to the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from typing import Any

from fedradio.core.registry import FAMILIES, PART_LISTS

Table = Mapping[str, Mapping[str, Any]]
"""Defaults by key, in sections: ``spec``, ``hops``, ``data``, ``cache``, ``family/kind``; ``gone`` has removed ones."""

FILE = "defaults.json"


@cache
def default_table() -> Table:
    """The defaults of all released keys. Defaults that are parts are given without the keywords that have theirs."""
    table: Table = json.loads((resources.files("fedradio.spec") / FILE).read_text(encoding="utf-8"))
    return table


def without_defaults(plain: Any, table: Table | None = None, name: str = "spec") -> Any:
    """A copy of a spec without the keys that have their defaults; of the value of a key with its ``name``."""
    table = default_table() if table is None else table
    if isinstance(plain, list) and _nested(name):
        return [without_defaults(item, table, name) for item in plain]
    if not isinstance(plain, dict) or not _nested(name):
        return deepcopy(plain)
    usual = _section(table, name, plain)
    short = {key: without_defaults(value, table, "" if _is_part(name) else key) for key, value in plain.items()}
    return {key: value for key, value in short.items() if key not in usual or value != usual[key]}


def with_defaults(plain: Any, table: Table | None = None, name: str = "spec") -> Any:
    """A copy of a spec with the defaults of all keys that it lacks, such as keys that are newer than the spec."""
    table = default_table() if table is None else table
    if isinstance(plain, list) and _nested(name):
        return [with_defaults(item, table, name) for item in plain]
    if not isinstance(plain, dict) or not _nested(name):
        return deepcopy(plain)
    usual = _section(table, name, plain)
    whole = plain | {key: value for key, value in usual.items() if key not in plain}
    return {key: with_defaults(value, table, "" if _is_part(name) else key) for key, value in whole.items()}


def _nested(name: str) -> bool:
    """Whether the value of a key has keys of the table."""
    return _is_part(name) or name in ("spec", "hops", "data", "cache")


def _is_part(name: str) -> bool:
    return PART_LISTS.get(name, name) in FAMILIES


def _section(table: Table, name: str, plain: Mapping[str, Any]) -> Mapping[str, Any]:
    """The defaults of a mapping: those of its kind for a part; none for a part that is not built in."""
    return table.get(f"{PART_LISTS.get(name, name)}/{plain.get('kind')}" if _is_part(name) else name, {})
