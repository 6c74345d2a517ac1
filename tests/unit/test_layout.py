"""The shape of the source tree, and tests where one looks for them: ``a/b.py`` has ``tests/unit/a/test_b.py``."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fedradio"
TESTS = ROOT / "tests"
UNIT = TESTS / "unit"

MOST_MODULES = 20
MORE_MODULES = {"cli": 30}
"""One module a command."""
MOST_LINES = 400

WITHOUT = {
    "__init__.py": "a table of names; core/test_lazy.py looks at every one of them",
    "core/contracts/__init__.py": "a table of names; core/test_lazy.py looks at every one of them",
    "core/contracts/state.py": "plain values: names and types without behaviour",
    "_version.py": "one constant, which the build reads too",
    "core/contracts/time.py": "plain values: names and types without behaviour",
    "core/progress.py": "a type, and a function that does nothing",
}
"""Modules without a test file of their own, and why."""

ELSEWHERE = {
    "benchmarks": "tests of the programs in benchmarks/",
    "tools": "tests of the programs in tools/",
    "test_layout.py": "about the tree as a whole",
}
"""What in tests/unit is about no module of the package."""

SPEC_FIXTURES = {"tiny", "cells"}
"""Fixtures of tests/conftest.py that make specs; ``support.worlds`` has the same worlds from parts."""


def modules(folder: Path = SOURCE) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*.py"))


def mirrored(module: Path) -> Path:
    """Where the tests of a module are, below tests/unit."""
    return module.parent / f"test_{module.stem.strip('_')}.py"


def only_names(path: Path) -> bool:
    """Whether a module has nothing but a docstring, imports and the list of what it offers."""
    return all(
        isinstance(node, (ast.Import, ast.ImportFrom))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def needing_tests() -> set[Path]:
    """Modules that need tests of their own: all but the ``__init__`` that only pass names on."""
    return {module for module in modules() if module.name != "__init__.py" or not only_names(SOURCE / module)}


def test_packages_are_small() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    sizes = {str(one.relative_to(SOURCE)): len([*one.glob("*.py")]) - (one / "__init__.py").exists() for one in folders}
    assert {name: size for name, size in sizes.items() if size > MORE_MODULES.get(name, MOST_MODULES)} == {}


def test_modules_are_short() -> None:
    lines = {str(module): (SOURCE / module).read_text(encoding="utf-8").count("\n") for module in modules()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_has_its_tests() -> None:
    lacking = {str(module) for module in needing_tests() if not (UNIT / mirrored(module)).exists()}
    assert lacking - WITHOUT.keys() == set(), "write a test file, or say in WITHOUT why there is none"
    assert WITHOUT.keys() - lacking == set(), "has tests, or is no module: not for WITHOUT"
    assert all(WITHOUT.values())


def test_every_test_file_has_its_module() -> None:
    found = {path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    found = {path for path in found if path.parts[0] not in ELSEWHERE}
    assert sorted(map(str, found - {mirrored(module) for module in needing_tests()})) == []
    assert sorted(name for name in ELSEWHERE if not (UNIT / name).exists()) == []


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


def offered() -> dict[str, str]:
    """Where the names come from that the package itself offers."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {name.name: f"{node.module}.{name.name}" for node in imports for name in node.names}


def imported(path: Path) -> Iterator[str]:
    """Dotted names of the package that a file imports, those of the ``support`` modules it uses included."""
    short = offered()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
        else:
            continue
        for name in names:
            if name == "fedradio":  # all that it offers
                yield from short.values()
            elif name.startswith("support."):
                yield from imported(TESTS / "support" / f"{name.split('.')[1]}.py")
            elif name.startswith("fedradio."):
                rest = name.removeprefix("fedradio.")
                yield short.get(rest, name)


def test_lower_layers_are_tested_without_specs() -> None:
    upper = above_rounds()
    lower = set().union(*layers()) - upper
    assert {"core", "rounds"} <= lower
    wrong = []
    for path in sorted(path for name in lower for path in (UNIT / name).rglob("*.py")):
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in imported(path) if name.split(".")[1] in upper]
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
