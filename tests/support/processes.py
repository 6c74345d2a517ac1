"""Commands in processes of their own, and the workers of sweeps."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.fork_server import ForkedProcess
from support.patience import PATIENCE_S

MAIN = "from fedradio.cli import main; main()"
"""The program."""

FORKED_WORKERS = """
import subprocess
from types import SimpleNamespace
from fedradio.sweeps import processes
from support import fork_server
processes.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": fork_server.fork_worker})
"""
"""Sweeps have forked workers too."""


def start(here: Path, *words: object, before: str = "", **how: Any) -> ForkedProcess:
    """A command in a process group of its own, as a shell starts it; ``before`` is Python code that comes first."""
    return ForkedProcess(here, f"{before}\n{MAIN}", *map(str, words), **how)


def fedradio(here: Path, *words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """What a command printed, and its exit code."""
    process = start(here, *words, **how)
    stdout, stderr = process.communicate(PATIENCE_S)
    return subprocess.CompletedProcess(words, process.wait(), stdout, stderr)


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def rounds_in(folder: Path) -> int:
    """Rounds that a run folder holds."""
    try:
        return (folder / "records.jsonl").read_text().count('"type": "round"')
    except OSError:
        return 0


def alive(folder: Path) -> list[int]:
    """Worker processes of sweeps that were started or forked in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "comm").read_text() + (process / "cmdline").read_text(errors="replace")
            if "sweeps.worker" in name and (process / "cwd").resolve() == folder.resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found
