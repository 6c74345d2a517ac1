"""``python -m fedradio``."""

import subprocess
import sys

from support.patience import PATIENCE_S

from fedradio import __version__


def test_it_is_the_command_line() -> None:
    command = [sys.executable, "-m", "fedradio", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, f"fedradio {__version__}\n"), done.stderr
