"""Packages whose names are imported when they are first asked for (PEP 562): nobody waits for what is not used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: ``modules`` holds, for every public name, the module that defines it.

    ``"name": "a.module"`` is that module's ``name``; ``"name": "a.module:other"`` is its ``other``, and ``"a.module:"``
    the module itself. A name is looked up once: afterwards it is an attribute of the package like any other.
    """

    def getattr_(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path, colon, attribute = modules[name].partition(":")
        module = import_module(path)
        value = module if colon and not attribute else getattr(module, attribute or name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_


def offered(name: str) -> Any:
    """A name that the package itself offers, for modules below the one that defines it."""
    return getattr(import_module("fedradio"), name)
