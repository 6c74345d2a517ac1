"""The table of speed: gains, bars, the share of the peak, and specs that exist."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from support.scripts import script

from fedradio import DataError, check_spec, load_spec


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/table.py``, from its file."""
    return script("benchmarks/table.py", monkeypatch)


def test_a_row_by_hand(tool: ModuleType) -> None:
    """2 s instead of 6 and 5: gains of 3 and 2.5; 8 GFLOP in 2 s of a peak of 10 GFLOP/s: a share of .4."""
    row = tool.Row("x", 2.0, 6.0, 5.0, 8 * 10**9, bar_unsaved=2.9)
    assert row.cells(1e10) == ["x", "2,000", "6,000", "5,000", "3.00x (bar 2.9)", "2.50x", "0.40", "", ""]
    assert not row.below
    assert tool.Row("x", 2.0, 6.0, bar_unsaved=3.1).below
    assert tool.Row("x", 2.0, None, 5.0, bar_plain=2.6).below
    assert tool.Row("x", 0.5).cells(1.0) == ["x", "500", "", "", "", "", "", "", ""]
    assert not tool.Row("x", 0.5).below
    cells = tool.Row("x", 0.5, limit=tool.Limit(0.2, "oneDNN", 3)).cells(1.0)
    assert cells[-2:] == ["200 oneDNN", "2.50"]


def test_all_cases_are_specs(tool: ModuleType) -> None:
    for run in tool.RUNS.values():
        load_spec(run.spec, run.overrides)
    for name, overrides in tool.LIMITS.items():
        load_spec(name.partition(",")[0], overrides)
    for name in tool.BARS:
        check_spec(tool.workload(name))


def test_only_some_cases(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "run_rows", lambda name, repeat, folder: iter([(name, repeat, folder.is_dir())]))
    assert [*tool.rows("CNN", 4, tmp_path)] == [("OSAFL, CNN, 20 clients", 4, True)]


def test_every_name_is_a_case(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("workload_rows", "run_rows", "limit_rows"):
        monkeypatch.setattr(tool, kind, lambda name, *_: iter([name]))
    monkeypatch.setattr(tool, "part_rows", lambda *_: iter(["parts"]))
    assert [*tool.rows("", 1, tmp_path)] == tool.names()


@pytest.mark.parametrize(
    ("arguments", "told"), [(["--repeat", "0"], "at least 1"), (["--only", "nosuch"], "there are: W1; W2; OSAFL, FCN")]
)
def test_wrong_use(
    arguments: list[str], told: str, tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["table.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        tool.main()
    assert told in capsys.readouterr().err


def test_data_to_be_fetched(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise DataError("fetch it")

    monkeypatch.setattr(tool, "print_table", missing)
    monkeypatch.setattr("sys.argv", ["table.py"])
    with pytest.raises(SystemExit, match="fetch it"):
        tool.main()


def test_the_limit_is_the_mean_of_the_rounds_that_are_timed(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds come before; three rounds of which all calls together take 6 s have a limit of 2 s each."""
    rounds: list[str] = []

    def noted(turn: Callable[[], None]) -> list[str]:
        before = len(rounds)
        turn()
        return rounds[before:]

    monkeypatch.setattr(tool, "noted_calls", noted)
    monkeypatch.setattr(tool, "limit", lambda calls, _: tool.Limit(2.0 * len(calls), "oneDNN", 1))
    assert tool.round_limit(lambda: rounds.append("round"), 3) == tool.Limit(2.0, "oneDNN", 1)
    assert len(rounds) == 5
