"""The comparison of speed: the order of turns, medians with their spread, ratios of neighbours, and whole specs."""

from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console
from support.scripts import script

from fedradio import check_spec, load_spec


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/against.py``, from its file."""
    return script("benchmarks/against.py", monkeypatch)


def test_turns_are_mirrored(tool: ModuleType) -> None:
    assert tool.turns(1) == ["base", "changed"]
    assert tool.turns(3) == ["base", "changed", "changed", "base", "base", "changed"]


def test_median_least_and_most(tool: ModuleType) -> None:
    found = tool.Spread.of([3.0, 1.0, 8.0, 2.0, 4.0])
    assert (found.median, found.least, found.most) == (3.0, 1.0, 8.0)
    assert found.text(10, 1) == "30.0 (10.0 to 80.0)"


def test_a_row_has_milliseconds_and_ratios_of_neighbours(tool: ModuleType) -> None:
    """Ratios by hand: 2/1, 2/4, 3/2; their median 1.5 is not the ratio 2/2 of the medians."""
    seconds = {"base": [1.0, 4.0, 2.0], "changed": [2.0, 2.0, 3.0]}
    assert tool.row("W1", seconds) == (
        "W1",
        "2000.0 (1000.0 to 4000.0)",
        "2000.0 (2000.0 to 3000.0)",
        "1.500 (0.500 to 2.000)",
    )


def test_sides_are_measured_in_turn(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def measure(name: str, checkout: Path) -> float:
        asked.append((name, str(checkout)))
        return {"a": 1.0, "b": 2.0}[str(checkout)]

    monkeypatch.setattr(tool, "measure", measure)
    found = tool.compare("demo", {"base": Path("a"), "changed": Path("b")}, 2, Console(quiet=True))
    assert asked == [("demo", "a"), ("demo", "b"), ("demo", "b"), ("demo", "a")]
    assert found[3] == "2.000 (2.000 to 2.000)"


def test_every_case_is_a_valid_spec_with_rounds(tool: ModuleType) -> None:
    for case in tool.CASES.values():
        if case.spec is not None:
            spec = load_spec(case.spec, case.overrides) if isinstance(case.spec, str) else check_spec(case.spec)
            assert spec.plain["data"]["source"]["kind"] not in ("mnist", "cifar10")
            assert case.rounds >= 1


def test_rounds_take_time_of_the_processor(tool: ModuleType) -> None:
    assert tool.rounds_s(tool.Case("demo", 1)) > 0
