"""What lower layers may know: their tests build no specs, and rounds name no single part."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fedradio"
TESTS = ROOT / "tests"
UNIT = TESTS / "unit"

SPEC_FIXTURES = {"tiny", "cells"}
"""Fixtures of tests/conftest.py that make specs; ``support.worlds`` has the same worlds from parts."""


def layers() -> list[set[str]]:
    """The packages from the top layer down, as the import rules have them."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    named = next(one["layers"] for one in contracts if one["type"] == "layers")
    return [{name.strip().removeprefix("fedradio.") for name in layer.split("|")} for layer in named]


def above_rounds() -> set[str]:
    """Packages that know of specs."""
    found: set[str] = set()
    for layer in layers():
        if "rounds" in layer:
            return found
        found |= layer
    raise AssertionError("there is no layer of rounds")


@cache
def offered() -> dict[str, str]:
    """Where the names come from that the package itself offers."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]  # most are under TYPE_CHECKING
    return {name.name: f"{node.module}.{name.name}" for node in imports for name in node.names}


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names of the package that a file imports, those of the ``support`` modules it uses included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fedradio":
            names = [f"fedradio.{node.attr}"]  # after "import fedradio"
        else:
            continue
        for name in names:
            if name.startswith("support."):
                found |= imported(TESTS / "support" / f"{name.split('.')[1]}.py")
            elif name.startswith("fedradio."):
                found.add(offered().get(name.removeprefix("fedradio."), name))
    return frozenset(found)


def test_lower_layers_are_tested_without_specs() -> None:
    upper = above_rounds()
    lower = set().union(*layers()) - upper
    assert {"core", "rounds"} <= lower
    wrong = []
    for path in sorted(path for name in lower for path in (UNIT / name).rglob("*.py")):
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(imported(path)) if name.split(".")[1] in upper]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asked = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} & SPEC_FIXTURES
        wrong += [f"{path.relative_to(ROOT)}: fixture {name}" for name in sorted(asked)]
    assert wrong == []


NAMES = {"w", "c", "weight", "superposition"}
"""Names of vectors and traits that are constants of the contracts."""


def test_rounds_know_no_names_of_single_parts() -> None:
    found = []
    for path in sorted((SOURCE / "rounds").glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        found += [f"{path.name}: {name}" for name in sorted(strings & NAMES)]
    assert found == []
