"""``python -m fedradio``."""

import subprocess
import sys

from fedradio import __version__


def test_it_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fedradio", "--version"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"fedradio {__version__}\n"), done.stderr
