"""Shell completion: shipped specs and YAML files, parts, families, and the keys and values of a spec.

Every function returns words, with or without their meaning; Typer keeps those that match what has been typed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from textwrap import shorten
from typing import Any

import typer

Words = list[tuple[str, str]]


def completing() -> bool:
    """Whether a shell is asking for completions, in which case nothing else may be printed."""
    return any(name.startswith("_") and name.endswith("_COMPLETE") for name in os.environ)


def specs(incomplete: str) -> Words:
    """Shipped specs, and YAML files."""
    place, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(path for path in Path(place or slash or ".").iterdir() if path.name.startswith(start))
    except OSError:
        found = []
    return shipped_specs() + _plain(f"{place}{slash}{path.name}" for path in found if path.suffix in (".yaml", ".yml"))


def shipped_specs() -> Words:
    """Shipped specs."""
    from fedradio.spec.files import shipped

    return _plain(shipped())


def parts_and_specs(incomplete: str) -> Words:
    """Kinds of parts with their descriptions, as ``family/kind`` once a slash is typed; families; and shipped specs."""
    from fedradio.core.registry import FAMILIES, parts

    kinds = [((f"{each.family}/" if "/" in incomplete else "") + each.kind, _summary(each)) for each in parts()]
    return kinds + list(FAMILIES.items()) + shipped_specs()


def families() -> Words:
    """Families of parts, and ``spec``."""
    from fedradio.core.registry import FAMILIES

    return _plain([*FAMILIES, "spec"])


def papers() -> Words:
    """The four papers."""
    from fedradio.papers.published import published

    return _plain(sorted({paper for paper, _ in published()}))


def items(context: typer.Context) -> Words:
    """Tables and figures of the paper named by the preceding word."""
    from fedradio.papers.published import published

    return _plain(name for paper, name in published() if paper == context.params.get("paper"))


def overrides(context: typer.Context, incomplete: str) -> Words:
    """Keys of the spec named by the preceding word, each followed by ``=``; after the ``=``, the kinds of that part.

    Bash splits words at ``=``, so there the key and the ``=`` are among the preceding words.
    """
    given: list[str] = list(context.params.get("overrides") or context.params.get("changes") or ())
    if len(given) > 1 and given[-1] == "=":
        return _kinds(given[-2])
    key, equals, _ = incomplete.partition("=")
    if equals:
        return [(f"{key}={kind}", what) for kind, what in _kinds(key)]
    return _plain(f"{name}=" for name in _keys(str(context.params.get("spec"))))


def _keys(spec: str) -> list[str]:
    """Dotted keys of a spec; the key of a part stands for its kind."""
    from fedradio.core.errors import FedradioError
    from fedradio.spec.spec import load_spec
    from fedradio.spec.yaml import flatten

    try:
        flat = dict(flatten(load_spec(spec).plain))
    except (FedradioError, OSError):
        return []
    return list(dict.fromkeys(key.removesuffix(".kind") for key in flat))


def _kinds(key: str) -> Words:
    """Kinds of the family named by the last word of a key, with their descriptions."""
    from fedradio.core.registry import FAMILIES, parts

    family = key.rpartition(".")[2]
    return [(each.kind, _summary(each)) for each in parts(family)] if family in FAMILIES else []


def _summary(part: Any) -> str:
    """A part's description, shortened to one line of a narrow terminal."""
    return shorten(str(part.summary).replace("``", ""), 60, placeholder=" ...")


def _plain(names: Iterable[str]) -> Words:
    return [(name, "") for name in names]
