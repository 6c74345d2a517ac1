"""Freed memory is kept, in processes of their own: the setting holds for the life of a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedradio.engine import memory

HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
OWN = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
PROGRAM = """
import json, resource, statistics, sys, torch
from fedradio.engine import Engine
from fedradio.engine.memory import keep_freed_memory
torch.set_num_threads(1)
if sys.argv[1] == "engine":
    Engine(1)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def filled():
    before = faults()
    torch.empty(10_000_000).fill_(1.0)
    return faults() - before

print(json.dumps([statistics.median(filled() for _ in range(20)), keep_freed_memory()]))
"""
glibc = pytest.mark.skipif(not memory._is_glibc(), reason="only glibc has these settings")


def huge_pages() -> bool:
    """Whether this kernel gives every process huge pages: a tensor then has few page faults anyway."""
    return HUGE.is_file() and "[always]" in HUGE.read_text()


def measured(who: str) -> tuple[float, bool]:
    """Page faults of a tensor of 40 MB, the median of 20 one after the other, and whether freed memory can be kept."""
    own = {name: value for name, value in os.environ.items() if name not in OWN}
    line = [sys.executable, "-c", PROGRAM, who]
    faults, kept = json.loads(subprocess.run(line, env=own, capture_output=True, check=True).stdout)
    return faults, kept


@glibc
def test_an_engine_keeps_freed_memory() -> None:
    """A tensor has 9,766 pages of 4 KiB; the first ones still find their places, so that the median counts."""
    faults, kept = measured("engine")
    assert kept is True
    assert faults < 50


@glibc
def test_without_an_engine_the_default_stays() -> None:
    assert measured("nobody")[0] > 5000 or huge_pages()


class FakeLibrary:
    """A C library that accepts thresholds up to a limit, and writes down what it is told."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.told: list[tuple[int, int]] = []

    def mallopt(self, parameter: int, value: int) -> int:
        self.told.append((parameter, value))
        return int(parameter == -1 or value <= self.limit)


def fake(monkeypatch: pytest.MonkeyPatch, limit: int, glibc: bool = True) -> FakeLibrary:
    """A fake library in place of the real one, in an environment without settings of the user."""
    library = FakeLibrary(limit)
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    if glibc:
        monkeypatch.setattr(memory, "_is_glibc", lambda: True)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: library)
    return library


@pytest.mark.parametrize(
    ("limit", "told", "kept"),
    [
        (256 << 20, [(-3, 256 << 20), (-1, 2**31 - 1)], True),
        (32 << 20, [(-3, 256 << 20), (-3, 32 << 20), (-1, 2**31 - 1)], True),
        (0, [(-3, 256 << 20), (-3, 32 << 20)], False),
    ],
)
def test_an_older_glibc_takes_less(
    limit: int, told: list[tuple[int, int]], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = fake(monkeypatch, limit)
    assert memory.keep_freed_memory.__wrapped__() is kept
    assert library.told == told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALLOC_MMAP_THRESHOLD_", "131072"),
        ("MALLOC_TRIM_THRESHOLD_", "131072"),
        ("GLIBC_TUNABLES", "glibc.rtld.nns=4:glibc.malloc.mmap_threshold=131072"),
    ],
)
def test_the_users_own_settings_stay(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = fake(monkeypatch, 256 << 20)
    monkeypatch.setenv(name, value)
    assert memory.keep_freed_memory.__wrapped__() is False
    assert library.told == []


def test_other_tunables_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, 256 << 20)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.rtld.nns=4")
    assert memory.keep_freed_memory.__wrapped__() is True


@pytest.mark.parametrize("answer", ["musl 1.2", None, ValueError("unknown"), OSError("unknown")])
def test_other_c_libraries_are_left_alone(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def confstr(name: str) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    library = fake(monkeypatch, 256 << 20, glibc=False)
    monkeypatch.setattr(memory.os, "confstr", confstr)
    assert memory.keep_freed_memory.__wrapped__() is False
    assert library.told == []


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert memory.keep_freed_memory.__wrapped__() is False
