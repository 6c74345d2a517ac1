"""Worker threads with one torch thread each: parallel over clients, never inside a matrix product."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

SWITCH_S = 2e-4
"""Longest time in seconds that a thread waits for the interpreter; the default is 25 times as long."""


def cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """Parallel ``[function(item) for item in items]``, on up to ``workers`` threads with one torch thread each.

    Items are independent of each other, so that results do not depend on ``workers``.
    """
    with one_torch_thread():
        if workers == 1 or len(items) <= 1:
            return [function(item) for item in items]
        with _quick_turns():
            return list(_pool(workers).map(function, items))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """A single thread inside torch's own operations: the same sums in the same order on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Short switch interval: threads that need the interpreter for microseconds must not wait 5 ms for it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Thread pool, kept for the life of the process: its threads own buffers and copies of modules."""
    return ThreadPoolExecutor(workers, "fedradio", initializer=torch.set_num_threads, initargs=(1,))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child inherits the pool, but not its threads
