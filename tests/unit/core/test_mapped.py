"""Room for what clients keep."""

import os
import tempfile
from pathlib import Path

import pytest
import torch
from support.worlds import tiny

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core import mapped as slots
from fedradio.core.errors import StoreError
from fedradio.core.mapped import make_room, on_file, release_memory
from fedradio.rounds.round import begin, run_round

needs_files = pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="slots stay in memory on this system")


def test_one_row_for_all_becomes_a_row_each() -> None:
    row = torch.tensor([1.0, 2.0])
    room = make_room({"own": row.expand(3, -1)})["own"]
    room[1] = 7.0
    assert room.tolist() == [[1.0, 2.0], [7.0, 7.0], [1.0, 2.0]]
    assert row.tolist() == [1.0, 2.0]
    assert not on_file(room)


@needs_files
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_on_file_equal_rows_in_memory(dtype: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written rows survive leaving memory; the file has no name that could be left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    different = torch.arange(12, dtype=dtype).view(4, 3)
    given = {"own": different[1].expand(4, -1), "c": torch.zeros(3, dtype=dtype).expand(4, -1), "rows": different}
    mapped, plain = make_room(given, large=1), make_room(given)
    assert list(tmp_path.iterdir()) == []
    for room in (mapped, plain):
        for name in given:
            room[name].index_copy_(0, torch.tensor([2]), torch.full((1, 3), 5.0, dtype=dtype))
        release_memory(room)
    assert all(on_file(rows) for rows in mapped.values())
    assert all(torch.equal(mapped[name], plain[name]) for name in given)
    assert all(mapped[name] is rows for name, rows in make_room(mapped, large=1).items())


@needs_files
def test_spared_rows_leave_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    room = make_room({"own": torch.ones(1_000_000).expand(16, -1)}, large=1)  # 64 MB
    assert float(room["own"].sum()) == 16e6
    held = _resident_bytes()
    release_memory(room)
    assert held - _resident_bytes() > 50e6
    assert float(room["own"].sum()) == 16e6


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm")
    if not pages.exists():
        pytest.skip("this system does not say what a process holds")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_files
def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(StoreError, match="set TMPDIR"):
        make_room({"own": torch.zeros(1).expand(2**60, 1)})
    assert list(tmp_path.iterdir()) == []


@needs_files
def test_a_run_on_files_is_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = tiny(algorithm=fedcpsl(), unlabelled=0.5, test="client")
    results = []
    for large in (slots.LARGE, 1):
        monkeypatch.setattr(slots.make_room, "__defaults__", (large,))
        state = begin(sim)
        for _ in range(2):
            state, record, _ = run_round(sim, state)
        results.append((state, record))
    (a, first), (b, second) = results
    assert not on_file(a.memory.client["own"])
    assert on_file(b.memory.client["own"])
    assert first.metrics == second.metrics
    assert all(torch.equal(a.memory.client[name], rows) for name, rows in b.memory.client.items())
