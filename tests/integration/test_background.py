"""The tests themselves in the background: ``nohup make test &`` starts them with signals ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.dispositions import ENDING

TESTS = Path(__file__).parents[1]

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


def test_this_process_does() -> None:
    assert not any(signal.getsignal(number) == signal.SIG_IGN for number in ENDING)
