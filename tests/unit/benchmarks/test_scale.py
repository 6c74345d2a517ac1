"""The benchmark of many clients: whole specs, ratios of neighbours, and what is above its bar."""

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from support.scripts import script

from fedradio import check_spec


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/scale.py``, from its file."""
    return script("benchmarks/scale.py", monkeypatch)


def test_worlds_are_valid_specs_with_twenty_active(tool: ModuleType) -> None:
    for world in tool.WORLDS.values():
        plain = check_spec(world(100_000)).plain
        receivers = plain["topology"].get("edges", 1)
        assert receivers * plain["hops"][0]["policy"]["clients"] == tool.ACTIVE


def test_ratios_are_those_of_neighbours(tool: ModuleType) -> None:
    """Ratios by hand: 2/1, 2/4, 3/2; their median 1.5 is not the ratio 2/2 of the medians."""
    few, many = SimpleNamespace(seconds=[1.0, 4.0, 2.0]), SimpleNamespace(seconds=[2.0, 2.0, 3.0])
    first, second = tool.cpu_rows({("flat", 100): few, ("flat", 10_000): many})
    assert (first.value, first.bar, first.above) == (1.0, None, False)
    assert (second.value, second.bar, second.above) == (1.5, 3.0, False)
    assert tool.Row("x", "", 3.1, 3.0).above


def test_a_turn_counts_rounds_and_bytes(tool: ModuleType, tmp_path: Path) -> None:
    world = tool.Rounds(tool.flat_world(100), tmp_path / "rounds")
    world.turn(2)
    assert world.state.t == 2
    assert len(world.seconds) == 1
    assert world.bytes_a_round() == (tmp_path / "rounds" / "records.jsonl").stat().st_size / 2


def test_memory_is_noted_after_some_rounds(tool: ModuleType) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not say what a process holds")
    memory = tool.Memory(at=(2, 3))
    for t in range(1, 5):
        memory.advanced(SimpleNamespace(t=t), None)
    assert len(memory.resident) == 2
    assert min(memory.resident) > 1e6
