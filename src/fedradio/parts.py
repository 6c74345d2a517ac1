"""Factories of all parts in one place: ``parts.fedavg(server_lr=0.5)``, ``parts.source.digits(...)``.

A part stands under its kind, the word that specs and ``fedradio ls`` have for it, and under its family and kind. Where
two families have the same kind, such as ``adam``, only the longer way leads there: ``parts.rule.adam``. Parts of the
user's own are found too, as soon as they are registered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedradio.core.errors import suggest
from fedradio.core.registry import FAMILIES, Part
from fedradio.core.registry import parts as registered


@dataclass(frozen=True)
class Family:
    """The factories of one family, as attributes by their kinds."""

    name: str

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        known = {} if kind.startswith("__") else {part.kind: part for part in registered(self.name)}
        if kind in known:
            return known[kind].factory
        raise AttributeError(f"there is no {self.name} {kind!r}{_instead(kind, list(known))}")

    def __dir__(self) -> list[str]:
        return [part.kind for part in registered(self.name)]

    def __repr__(self) -> str:
        return f"{self.name}: {FAMILIES[self.name]} ({', '.join(dir(self))})"


def __getattr__(name: str) -> Any:
    if name in FAMILIES:
        return Family(name)
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: list[Part] = [part for part in registered() if part.kind == name]
    if len(found) == 1:
        return found[0].factory
    if found:
        several = " or ".join(f"parts.{part.family}.{name}" for part in found)
        raise AttributeError(f"several families have a part {name!r}: {several}")
    raise AttributeError(f"there is no part {name!r}{_instead(name, dir_())}")


def dir_() -> list[str]:
    """The names of all families, and of all kinds that one family alone has."""
    kinds = [part.kind for part in registered()]
    return [*FAMILIES, *sorted(kind for kind in set(kinds) - FAMILIES.keys() if kinds.count(kind) == 1)]


def __dir__() -> list[str]:
    return dir_()


def _instead(name: str, known: list[str]) -> str:
    near = suggest(name, known)
    return f": {near}" if near else "; `fedradio ls` lists all"
