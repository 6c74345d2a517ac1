"""Tests run in a home where nothing was fetched: the script that makes it, and that every test command uses it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tools" / "fresh_home.sh"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script for POSIX shells")


def test_everything_of_the_users_is_hidden() -> None:
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "FEDRADIO_HOME", "MPLCONFIGDIR")
    own = dict.fromkeys(names, "/somewhere") | {
        "FEDRADIO_DATA": "/fetched",
        "FEDRADIO_PARTS": "mine.py",
        "FEDRADIO_LOG": "info",
    }
    done = subprocess.run([SCRIPT, "env"], env=os.environ | own, capture_output=True, text=True, check=True)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert len({seen[name] for name in names}) == len(names)
    assert all(seen[name].startswith(seen["HOME"]) for name in names)
    assert {"FEDRADIO_DATA", "FEDRADIO_PARTS", "FEDRADIO_LOG"}.isdisjoint(seen)
    assert not Path(seen["HOME"]).exists()  # removed again


def test_the_exit_code_is_that_of_the_command() -> None:
    assert subprocess.run([SCRIPT, "sh", "-c", "exit 7"], check=False).returncode == 7


def test_every_default_test_command_runs_in_a_fresh_home() -> None:
    recipes = [line for line in (ROOT / "Makefile").read_text().splitlines() if "/pytest" in line]
    default = [line for line in recipes if "-m paper" not in line]
    assert len(default) >= 2
    assert all(line.strip().startswith("$(FRESH) $(BIN)/pytest") for line in default)


def test_ci_runs_all_that_test_all_runs() -> None:
    makefile = (ROOT / "Makefile").read_text().splitlines()
    needs = next(line.split("##")[0] for line in makefile if line.startswith("test-all:")).split()[1:]
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in ci if line.startswith("make ")] == [f"make {name}" for name in needs]
