"""What a process holds in memory, and whether a file system tells the holes of its files."""

import os
from pathlib import Path

import pytest


def resident_bytes() -> int:
    """Resident memory of this process; skips the test where the system does not tell it."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not say what a process holds")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


def needs_holes(folder: Path) -> None:
    """Skip the test where a file of this folder that is one hole is told to have data."""
    with (folder / "hole").open("wb") as file:
        os.ftruncate(file.fileno(), 1 << 20)
        try:
            os.lseek(file.fileno(), 0, os.SEEK_DATA)
        except OSError:
            return
    pytest.skip("this file system does not tell holes")
