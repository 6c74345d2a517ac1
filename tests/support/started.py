"""Federations of real processes on this machine: forked, watched and ended, each by its number."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from support.fork_server import ForkedProcess
from support.patience import PATIENCE_S
from support.processes import MAIN

DEVICE = Path(__file__).parents[1] / "federation" / "device.py"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Started:
    """Processes of a federation in a folder: the server's and the devices'."""

    folder: Path
    port: int = field(default_factory=free_port)
    running: list[ForkedProcess] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self, *arguments: str, log: str = "log") -> ForkedProcess:
        """A command of fedradio in the background; what it prints goes to a file."""
        return self.python(MAIN, *arguments, log=log)

    def python(self, code: str, *arguments: str, log: str) -> ForkedProcess:
        with (self.folder / log).open("wb") as file, open(os.devnull) as nothing:
            files = {0: nothing.fileno(), 1: file.fileno(), 2: file.fileno()}
            process = ForkedProcess(self.folder, code, *arguments, env=os.environ | {"COLUMNS": "200"}, files=files)
        self.running.append(process)
        return process

    def keys(self, nodes: int, name: str = "keys") -> None:
        assert (
            self.command("keys", name, "--host", "localhost", "--nodes", str(nodes), log="keys.log").wait(PATIENCE_S)
            == 0
        )

    def serve(self, spec: dict[str, Any], *options: str) -> ForkedProcess:
        (self.folder / "spec.yaml").write_text(yaml.safe_dump(spec))
        given = ("--tls", "keys", "--out", "run", "--port", str(self.port), "--wait", str(int(PATIENCE_S)), *options)
        return self.command("serve", "spec.yaml", *given, log="serve.log")

    def join(
        self, client: int, key: str | None = None, ca: str = "keys/ca.crt", log: str = "", state: str = ""
    ) -> ForkedProcess:
        given = ("--key", key or f"keys/node-{client}.key", "--ca", ca, "--state", state or f"state-{client}")
        return self.command("join", self.address, "--client", str(client), *given, log=log or f"join-{client}.log")

    def misbehave(self, client: int, plan: str) -> ForkedProcess:
        """A device that does as ``plan`` says, see ``device.py``."""
        key = f"keys/node-{client}.key"
        state = f"state-{client}"
        given = (self.address, str(client), key, "keys/ca.crt", state, plan)
        return self.python(DEVICE.read_text(encoding="utf-8"), *given, log=f"bad-{client}.log")

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(errors="replace")

    def wait_for(self, log: str, words: str, seconds: float = PATIENCE_S) -> None:
        """Wait until a process has said something."""
        end = time.monotonic() + seconds
        while words not in self.text(log):
            assert time.monotonic() < end, f"{log} never said {words!r}:\n{self.text(log)}"
            time.sleep(0.1)

    def wait_until(self, done: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Wait until something is so."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, self.text("serve.log")
            time.sleep(0.05)

    def end(self) -> None:
        """End what still runs, each process by its number."""
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(15)
