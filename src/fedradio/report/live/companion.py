"""The server of the live page as a separate process, so that it can neither slow down nor crash the run.

It ends when its standard input is closed, which happens however the run ends; open pages then show the final state.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from fedradio.core.errors import StoreError

MOST_S = 15.0
"""Seconds that the process has to shut down."""


class Companion:
    """Context manager of a process that serves the live page of ``folder``, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-P", "-m", "fedradio", "watch", str(folder), "--until-eof"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=None if os.name == "nt" else 0,  # Ctrl-C at the terminal is for the run alone
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise StoreError(f"the live page cannot be served: {self._process.stderr.read().strip()[-500:]}")

    def __enter__(self) -> Companion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it is dead already
            self._process.stdin.close()
        try:
            self._process.wait(MOST_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
