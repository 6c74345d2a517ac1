"""All names that a user can write: Python names, commands and options, spec keys, parts, columns, pages, examples.

``python -m support.public_names`` prints those of the tree that is the current directory, with its ``src`` and these
``tests`` on ``PYTHONPATH``. ``names_0_2.json`` holds those of version 0.2, and the figures and columns that it wrote
for the runs of ``support.recorded``; it is never printed again.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import click
from support.commands import invoke

import fedradio
from fedradio.cli.app import COMMANDS, load_command

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).parent / "names_0_2.json"

DOTTED = re.compile(r"\bfedradio(?:\.\w+)+")
IMPORT = re.compile(r"^ *from (fedradio[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def public_names(root: Path = ROOT) -> dict[str, list[str]]:
    """Names by sort; a name inside of another, such as an option of a command, follows it after a dot or a space."""
    return {
        "commands": sorted(_commands()),
        "keys": sorted({*_keys(), *_keywords()}),
        "specs": sorted(line.split()[0] for line in invoke("ls", "spec").stdout.splitlines()),
        "quantities": sorted(import_module("fedradio.results.quantities").QUANTITIES),
        "pages": sorted(path.name for path in (root / "docs").glob("*.md")),
        "examples": sorted(path.name for path in (root / "examples").iterdir() if path.name[0] not in "._"),
    }


def python_names(root: Path = ROOT) -> set[str]:
    """Names that packages list, of ``fedradio.theory``, and that pages and examples write, with what is inside."""
    found: dict[str, Any] = {}
    for module in _modules():
        found[module.__name__] = module
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in _listed(module)}
    found |= {name: what for name in _written(root) if (what := _resolve(name)) is not None}
    names, seen = set(found), set()
    for name in sorted(found, key=lambda name: (name.count("."), name)):
        if id(found[name]) not in seen:
            names.update(f"{name}.{inner}" for inner in _inside(found[name]))
        seen.add(id(found[name]))
    return {name for name in names if "._" not in name}


def _modules() -> Iterator[ModuleType]:
    yield fedradio
    for found in pkgutil.walk_packages(fedradio.__path__, "fedradio."):
        package = found.name.split(".")[1]
        if package not in ("cli", "__main__") and (found.ispkg or package == "theory"):
            yield import_module(found.name)


def _listed(module: ModuleType) -> list[str]:
    if module.__name__.startswith("fedradio.theory"):
        return [name for name, what in vars(module).items() if getattr(what, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", ()))


def _written(root: Path) -> set[str]:
    """Dotted names on pages, and what pages and examples import."""
    found: set[str] = set()
    pages = [path for path in (root / "docs").glob("*.md") if path.name != "from_0_2.md"]
    for path in [*pages, *(root / "examples").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        found |= set(DOTTED.findall(text))
        for module, names in IMPORT.findall(text):
            found |= {f"{module}.{name}" for name in re.findall(r"\w+(?=\s*(?:as \w+\s*)?[,)]|$)", names)}
    return found


@cache
def _resolve(name: str) -> Any:
    """What a dotted name stands for, None if nothing; what a package offers goes before its module of that name."""
    package, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(package), attribute, None) if package else None
        return import_module(name) if found is None else found
    except ImportError:
        return None


def exists(name: str) -> bool:
    """Whether a Python name is there, or a keyword, field or method of a function or class that is."""
    words = name.split(".")
    if _resolve(name) is not None:
        return True
    return any(
        ".".join(words[length:]) in _inside(_resolve(".".join(words[:length]))) for length in range(2, len(words))
    )


def _inside(what: Any) -> set[str]:
    """Keywords of a function; keywords, fields and methods of a class, and the keywords of its methods."""
    if isinstance(what, FunctionType):
        return set(inspect.signature(what).parameters)
    if not inspect.isclass(what):
        return set()
    names: set[str] = set()
    for base in (base for base in what.__mro__ if base.__module__.startswith("fedradio")):
        names |= {*vars(base), *vars(base).get("__annotations__", {})}
        methods = {name: one for name, one in vars(base).items() if isinstance(one, FunctionType)}
        names |= {f"{name}.{word}" for name, one in methods.items() for word in inspect.signature(one).parameters}
        names |= set(inspect.signature(methods["__init__"]).parameters) if "__init__" in methods else set()
    return {name for name in names if not name.startswith("_") and not name.endswith(".self")} - {"self"}


def _commands() -> Iterator[str]:
    """Commands, each with its own options, and the options that every command has."""
    options = {name: own for one in COMMANDS for name, own in _options(one, load_command(one))}
    common = set.intersection(*options.values())
    yield from (f"every command {word}" for word in common)
    for name, own in options.items():
        yield name
        yield from (f"{name} {word}" for word in own - common)


def _options(name: str, command: click.Command) -> Iterator[tuple[str, set[str]]]:
    """A command and its options; of a group, such as ``data``, those inside."""
    if isinstance(command, click.Group):
        for inner, one in command.commands.items():
            yield from _options(f"{name} {inner}", one)
        return
    words = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
    yield name, {word for word in words if word.startswith("-")}


def _keys() -> Iterator[str]:
    schema = import_module("fedradio.spec.schema").spec_schema().model_json_schema()
    yield from _properties(schema, schema["$defs"], "")


def _properties(block: Mapping[str, Any], shared: Mapping[str, Any], before: str) -> Iterator[str]:
    for name, field in block.get("properties", {}).items():
        yield f"{before}{name}"
        for inner in (field, field.get("items", {}), *field.get("anyOf", ())):
            if "$ref" in inner:
                yield from _properties(shared[inner["$ref"].rpartition("/")[2]], shared, f"{before}{name}.")


def _keywords() -> Iterator[str]:
    registry = import_module("fedradio.core.registry")
    for family in registry.FAMILIES:
        for part in registry.parts(family):
            yield f"{family} {part.kind}"
            yield from (f"{family} {part.kind}.{parameter.name}" for parameter in part.parameters())


if __name__ == "__main__":
    json.dump({"python": sorted(python_names(Path.cwd()))} | public_names(Path.cwd()), sys.stdout, indent=0)
