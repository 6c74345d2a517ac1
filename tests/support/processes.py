"""Commands in processes of their own, and the workers of sweeps."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAIN = [sys.executable, "-c", "from fedradio.cli import main; main()"]


def start(here: Path, *words: str, **how: Any) -> subprocess.Popen[str]:
    """A command in a process group of its own, as a shell starts it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*MAIN, *words], cwd=here, process_group=0, **pipes, **how)


def wait_for(what: Callable[[], bool]) -> None:
    for _ in range(1200):
        if what():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def rounds_in(folder: Path) -> int:
    """Rounds that a run folder holds."""
    try:
        return (folder / "records.jsonl").read_text().count('"type": "round"')
    except OSError:
        return 0


def alive(folder: Path) -> list[int]:
    """Worker processes of sweeps that were started in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            if "fedradio.sweeps.worker" in command and (process / "cwd").resolve() == folder.resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found
