"""The tool that breaks lines to see tests fail: on a tree of one module, and the rows of its table on this one."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
RATES = '''"""Rates."""

def twice(x):
    return 2 * x

def same(x):
    return x + 0
'''
TESTS = """
from fedradio.links.rates import same, twice

def test_twice():
    assert twice(3) == 6

def test_same():
    assert same(0) == 0
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``tools/mutants.py``, from its file."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "mutants", module)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one module and its tests; pytest loads no plugins that others have installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n",
        "src/fedradio/__init__.py": "",
        "src/fedradio/links/__init__.py": "",
        "src/fedradio/links/rates.py": RATES,
        "tests/unit/links/test_rates.py": TESTS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def mutant(tool: ModuleType, name: str, text: str, wrong: str, test: str = "") -> object:
    """A mutant of the one module."""
    return tool.Mutant("links/rates.py", name, text, wrong, (f"links/test_rates.py{test}",))


def test_a_mutant_dies_or_survives(tool: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (mutant(tool, "half", "2 * x", "x / 2"), mutant(tool, "more", "x + 0", "x + x", "::test_same"))
    assert tool.main(["--jobs", "2"], tree, rows) == 1
    first, second, found, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["died", "links/rates.py:", "half"]
    assert second.split() == ["survived", "links/rates.py:", "more"]
    assert found.strip() == "'x + 0' -> 'x + x' passes tests/unit/links/test_rates.py::test_same"
    assert last.startswith("1 of 2 mutants died; ")
    assert tool.main(["--only", "*half"], tree, rows) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["died", "1"]
    assert (tree / "src/fedradio/links/rates.py").read_text() == RATES
    assert not [*tree.rglob("__pycache__")]


def test_a_row_must_find_its_text_once_and_its_test(
    tool: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All wrong rows are named at once, and nothing is run."""
    rows = (
        mutant(tool, "gone", "3 * x", "x"),
        mutant(tool, "common", "return", "return -"),
        mutant(tool, "no test", "2 * x", "x", "::test_thrice"),
        mutant(tool, "right", "2 * x", "x"),
        tool.Mutant("links/air.py", "no file", "x", "y", ("links/test_air.py",)),
    )
    assert tool.main([], tree, rows) == 2
    assert capsys.readouterr().err.splitlines() == [
        "links/rates.py: gone: '3 * x' is found 0 times in src/fedradio/links/rates.py",
        "links/rates.py: common: 'return' is found 2 times in src/fedradio/links/rates.py",
        "links/rates.py: no test: there is no test tests/unit/links/test_rates.py::test_thrice",
        "links/air.py: no file: 'x' is found 0 times in src/fedradio/links/air.py",
        "links/air.py: no file: there is no test tests/unit/links/test_air.py",
    ]


def test_tests_must_pass_without_the_mutant(tool: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "src/fedradio/links/rates.py").write_text(RATES.replace("2 *", "4 *"), encoding="utf-8")
    assert tool.main([], tree, (mutant(tool, "half", "4 * x", "x / 2"),)) == 2
    words = capsys.readouterr().err
    assert words.startswith("tests fail without any mutant\n")
    assert "test_twice" in words


def test_a_mutant_that_nobody_can_import_is_no_mutant(
    tool: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main([], tree, (mutant(tool, "no Python", "2 * x", "2 *"),)) == 2
    assert capsys.readouterr().err.startswith("links/rates.py: no Python: its tests cannot be run\n")


def test_mutants_are_listed_by_pattern(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--list", "--only", "rounds/tiers*"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == [str(row) for row in tool.MUTANTS if row.place == "rounds/tiers.py"] != []
    for wrong in (["--only", "nothing"], ["--jobs", "0"]):
        with pytest.raises(SystemExit) as stop:
            tool.main(wrong)
        assert stop.value.code == 2


def test_every_row_of_the_table_fits_this_tree(tool: ModuleType) -> None:
    """Every text stands in its file once, every test exists; three or more in each package whose lines are formulas."""
    assert tool.wrong_rows(ROOT, tool.MUTANTS) == []
    assert len({str(row) for row in tool.MUTANTS}) == len(tool.MUTANTS) >= 28
    assert all(row.text != row.wrong and row.nearest for row in tool.MUTANTS)
    count = Counter(row.package for row in tool.MUTANTS)
    assert all(count[package] >= 3 for package in ("rounds", "links", "policies", "engine", "algorithms"))
