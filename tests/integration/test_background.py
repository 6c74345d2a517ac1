"""The tests themselves in the background: ``nohup make test &`` starts them with signals ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.dispositions import ENDING

TESTS = Path(__file__).parents[1]
INTERRUPTED = "unit/sweeps/test_processes.py::test_a_second_interrupt_stops_at_once"

CHILD = "import signal; print([int(n) for n in (1, 2, 15) if signal.getsignal(n) == signal.SIG_IGN])"
PARENT = f"""
import os, signal, subprocess, sys
sys.path.insert(0, {str(TESTS)!r})
from support.dispositions import heed_ending_signals
if sys.argv[1] == "heed":
    heed_ending_signals()
os.kill(os.getpid(), signal.SIGHUP)
subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""


@pytest.mark.parametrize(("how", "ignored"), [("as inherited", "[1, 2, 15]\n"), ("heed", "[]\n")])
def test_children_of_tests_heed_signals_that_the_tests_were_told_to_ignore(how: str, ignored: str) -> None:
    shell = ["sh", "-c", 'trap "" HUP INT TERM; exec "$@"', "sh", sys.executable, "-c", PARENT, how]
    assert subprocess.run(shell, capture_output=True, text=True, check=True).stdout == ignored


def test_runs_in_the_process_of_the_tests_heed_ctrl_c_too() -> None:
    """The test that is started here fails at once if its interrupts are ignored; it waits for nothing then."""
    pytest_here = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(TESTS / INTERRUPTED)]
    shell = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *pytest_here]
    done = subprocess.run(shell, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_this_process_does() -> None:
    assert not any(signal.getsignal(number) == signal.SIG_IGN for number in ENDING)
