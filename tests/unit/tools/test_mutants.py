"""The tool that breaks lines to see tests fail: on a tree of one module, and the rows of its table on this one."""

import importlib.util
import subprocess
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


@pytest.mark.parametrize(
    ("codes", "result", "words"),
    [
        ([0, 1, 1], 0, ""),
        ([0, 1, 0], 1, ""),
        ([1], 2, "tests fail without any mutant\nwhat pytest said\n"),
        ([0, 2, 1], 2, "links/rates.py: half: its tests cannot be run\nwhat pytest said\n"),
        ([0, 5, 1], 2, "links/rates.py: half: its tests cannot be run\nwhat pytest said\n"),
    ],
    ids=["all_die", "one_survives", "broken_before", "cannot_be_imported", "not_selected"],
)
def test_what_pytest_says_decides(
    tool: ModuleType,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    codes: list[int],
    result: int,
    words: str,
) -> None:
    """Its exit code without any mutant, then with each: 0 passed, 1 failed, 2 interrupted, 5 no tests."""
    left = iter(codes)
    said = "what pytest said"
    monkeypatch.setattr(tool, "run_tests", lambda *_: subprocess.CompletedProcess([], next(left), said, ""))
    rows = (mutant(tool, "half", "2 * x", "x / 2"), mutant(tool, "more", "x + 0", "x + x"))
    assert tool.main(["--jobs", "1"], tree, rows) == result
    assert capsys.readouterr().err == words


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
