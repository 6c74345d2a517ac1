"""Packages whose names are imported when they are first used (PEP 562), and listed once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that is being imported.

    Its public names are those that it imports for type checkers, under ``if TYPE_CHECKING:``, in the form that makes
    them public there too: ``from module import name as name``, or ``from package import module as module``. A name is
    looked up once: afterwards it is an attribute of the package like any other.
    """
    names = _imports_for_type_checkers(package)
    exported = sorted(names)

    def getattr_(name: str) -> Any:
        if name not in names:
            reason = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(reason, name=name, obj=sys.modules[package])
        path, attribute = names[name]
        value = import_module(f"{package}.{name}") if path == package else getattr(import_module(path), attribute)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_, lambda: exported, exported


def _imports_for_type_checkers(package: str) -> dict[str, tuple[str, str]]:
    """Module and name behind every name that a package imports under ``if TYPE_CHECKING:``.

    Statements are found by their first word: importing ``ast`` would nearly double the time of ``import fedradio``.
    """
    with open(str(sys.modules[package].__file__), encoding="utf-8") as file:
        source = file.read()
    found = {}
    for statement in source.partition("\nif TYPE_CHECKING:\n")[2].split("    from ")[1:]:
        module, _, imported = statement.partition("\n\n")[0].partition(" import ")
        for each in imported.strip("(), \n").split(","):
            name, _, public = each.strip().partition(" as ")
            found[public] = (module, name)
    return found


def offered(name: str) -> Any:
    """A name that the package itself offers, for modules below the one that defines it."""
    return getattr(import_module("fedradio"), name)
