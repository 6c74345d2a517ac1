"""Room for what clients keep."""

import errno
import os
import tempfile
from pathlib import Path

import pytest
import torch
from support.memory import needs_holes, resident_bytes
from support.worlds import tiny

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core import mapped as slots
from fedradio.core.errors import StoreError
from fedradio.core.mapped import make_room, on_file, release_memory, weighted_sum, write_rows, written_rows, zero_rows
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
            write_rows(room[name], torch.tensor([2]), torch.full((1, 3), 5.0, dtype=dtype))
        release_memory(room)
    assert all(on_file(rows) for rows in mapped.values())
    assert all(torch.equal(mapped[name], plain[name]) for name in given)
    weight = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=dtype)
    assert all(torch.equal(weighted_sum(weight, mapped[name]), weight @ plain[name]) for name in given)
    assert all(mapped[name] is rows for name, rows in make_room(mapped, large=1).items())


@needs_files
def test_spared_rows_leave_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    room = make_room({"own": torch.ones(1_000_000).expand(16, -1)}, large=1)  # 64 MB
    assert float(room["own"].sum()) == 16e6
    held = resident_bytes()
    release_memory(room)
    assert held - resident_bytes() > 50e6
    assert float(room["own"].sum()) == 16e6


@needs_files
def test_rows_of_zeros_take_space_once_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand rows of two blocks each three are written: row 5, row 7 and the last one."""
    needs_holes(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(slots, "PIECE", 50_000)
    files = set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
    room = make_room({"c": torch.zeros(2048).expand(1000, -1)}, large=1)["c"]
    ids, values = torch.tensor([5, 999, 7]), torch.arange(1.0, 4.0)[:, None].expand(-1, 2048)
    write_rows(room, ids, values)
    assert written_rows(room).nonzero().flatten().tolist() == [5, 7, 999]
    release_memory({"c": room})
    assert room.sum(dim=1)[[5, 6, 7, 999]].tolist() == [2048.0, 0.0, 3 * 2048.0, 2 * 2048.0]
    assert weighted_sum(torch.arange(1000.0), room)[0] == 5 + 3 * 7 + 2 * 999
    if files is not None:
        del room
        assert set(os.listdir("/proc/self/fd")) == files


def test_rows_of_zeros_take_memory_once_they_are_written() -> None:
    """Rows of 8 kB, 400 MB in all: in memory, below the size of files."""
    before = resident_bytes()
    room, ledger = make_room({"c": torch.zeros(2048).expand(50_000, -1)})["c"], zero_rows(50_000, torch.ones(2048))
    for rows in (room, ledger):
        assert rows.shape == (50_000, 2048)
        assert rows.data_ptr() % 64 == 0
        write_rows(rows, torch.tensor([3, 40_000]), torch.ones(2, 2048))
        assert float(rows.sum()) == 4096
    assert not on_file(room)
    assert resident_bytes() - before < 50e6


@needs_files
def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that cannot be so large, of rows that begin with numbers, and of rows that are written later."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(StoreError, match=r"'own'.*set TMPDIR"):
        make_room({"own": torch.zeros(1).expand(2**60, 1)})
    with pytest.raises(StoreError, match=r"'own'.*set TMPDIR"):
        make_room({"own": torch.ones(1).expand(2**50, 1)})
    assert list(tmp_path.iterdir()) == []
    room = make_room({"c": torch.zeros(3).expand(4, -1)}, large=1)["c"]

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreError, match=r"no room for 12 B of 1 rows .* No space left on device; set TMPDIR"):
        write_rows(room, torch.tensor([2]), torch.ones(1, 3))
    assert not room.any()


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
