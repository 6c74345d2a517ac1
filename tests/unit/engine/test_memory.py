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

kept = keep_freed_memory() if sys.argv[1] == "engine" else None
print(json.dumps([statistics.median(filled() for _ in range(20)), kept]))
"""
glibc = pytest.mark.skipif(not memory._is_glibc(), reason="only glibc has these settings")


def huge_pages() -> bool:
    """Whether this kernel gives every process huge pages: a tensor then has few page faults anyway."""
    return HUGE.is_file() and "[always]" in HUGE.read_text()


def measured(who: str, **environment: str) -> tuple[float, bool | None]:
    """Page faults of a tensor of 40 MB, the median of 20 one after the other, and whether freed memory is kept."""
    own = {name: value for name, value in os.environ.items() if name not in OWN} | environment
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
@pytest.mark.parametrize(
    "environment",
    [
        {"MALLOC_MMAP_THRESHOLD_": "131072"},
        {"MALLOC_TRIM_THRESHOLD_": "131072"},
        {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"},
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_the_users_own_settings_stay(environment: dict[str, str]) -> None:
    faults, kept = measured("engine", **environment)
    assert kept is False
    assert faults > 5000 or huge_pages()


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


@pytest.mark.parametrize(
    ("limit", "told", "kept"),
    [
        (10**9, [(-3, 10**9), (-1, 2**31 - 1)], True),
        (32 << 20, [(-3, 10**9), (-3, 32 << 20), (-1, 2**31 - 1)], True),
        (0, [(-3, 10**9), (-3, 32 << 20)], False),
    ],
)
def test_an_older_glibc_takes_less(
    limit: int, told: list[tuple[int, int]], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(limit)
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(memory, "_is_glibc", lambda: True)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: library)
    assert memory.keep_freed_memory.__wrapped__() is kept
    assert library.told == told


@pytest.mark.parametrize("answer", ["musl 1.2", None, ValueError("unknown"), OSError("unknown")])
def test_other_c_libraries_are_left_alone(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def confstr(name: str) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    library = FakeLibrary(10**9)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(memory.os, "confstr", confstr)
    assert memory.keep_freed_memory.__wrapped__() is False
    assert library.told == []


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert memory.keep_freed_memory.__wrapped__() is False
