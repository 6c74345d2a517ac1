"""Python code in forked processes: the server has imported torch and the package already, which takes two CPU seconds.

Each test process has one server, started with the first request; it has one thread. A forked process has its own
folder, environment, process group, streams and default signals. Only ``sys.modules`` differs from a fresh interpreter:
tests of imports start one.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

MODULES = ("typer", "fedradio.report.terminal.run_progress", "fedradio.sweeps.worker")
"""What the server imports besides what a run needs: no command, because consoles read the environment when made."""

NUMBER = struct.Struct("i")


@cache
def requests() -> socket.socket:
    """The way to the server, which ends when this end is closed."""
    ours, theirs = socket.socketpair()
    code = f"from support.fork_server import serve; serve({theirs.fileno()})"
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with theirs:
        subprocess.Popen([sys.executable, "-P", "-c", code], env=environment, pass_fds=[theirs.fileno()])
    return ours


class ForkedProcess:
    """``python -P -c CODE ARGUMENTS`` in a folder, as :class:`subprocess.Popen` with pipes of text would start it."""

    def __init__(self, here: Path, code: str, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.returncode: int | None = None
        self._status, status = socket.socketpair()
        (out, stdout), (err, stderr) = os.pipe(), os.pipe()
        self.stdout, self.stderr = open(out), open(err)  # noqa: SIM115
        with ExitStack() as ends:
            request = ends.enter_context(tempfile.TemporaryFile("w+"))
            json.dump([str(here), code, arguments, dict(os.environ if env is None else env)], request)
            request.seek(0)
            files = [request, ends.enter_context(status), ends.enter_context(open(os.devnull))]
            files += [ends.enter_context(open(number, "w")) for number in (stdout, stderr)]
            socket.send_fds(requests(), [b"!"], [file.fileno() for file in files])
        self.pid = self._number()

    def _number(self) -> int:
        packed = self._status.recv(NUMBER.size)
        assert packed, "the fork server has ended"
        return int(NUMBER.unpack(packed)[0])

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = self._number()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0) from None
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Standard output and error; when the time is over, its process group is killed."""
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as readers:
            texts = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(self.pid, signal.SIGKILL)
                raise
            return texts[0].result(), texts[1].result()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def serve(number: int) -> NoReturn:
    """Fork twice for each request: a process that executes the code, and one that waits for its end."""
    from fedradio.core import registry
    from fedradio.runs.run import run
    from fedradio.spec.spec import check_spec

    for name in MODULES:
        import_module(name)
    run(check_spec({"rounds": 1, "topology": {"kind": "flat", "clients": 1}, "model": "logistic"}), workers=1)
    registry._plugins_loaded = False  # a process may see packages that this one does not
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    with socket.socket(fileno=number) as incoming:
        while True:
            asked, received, _, _ = socket.recv_fds(incoming, 1, 5)
            if not asked:
                os._exit(0)
            if os.fork() == 0:
                break
            for each in received:
                os.close(each)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, status, *streams = received
    child = os.fork()
    if child == 0:
        execute(request, status, streams)
    for each in (request, *streams):
        os.close(each)
    os.write(status, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    os._exit(0)


def execute(request: int, status: int, streams: Sequence[int]) -> NoReturn:
    """Execute the code of a request in this process, and end it."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0), open(1, "w", errors=sys.stdout.errors)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors=sys.stderr.errors)  # noqa: SIM115
    with open(request) as file:
        here, code, arguments, environment = json.load(file)
    os.chdir(here)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", *sys.path)]
    sys.argv[:] = ["-c", *arguments]
    os.write(status, NUMBER.pack(os.getpid()))
    os.close(status)
    exit_code: object = 0
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        exit_code = end.code
    except BaseException:
        traceback.print_exc()
        exit_code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(exit_code if isinstance(exit_code, int) else exit_code is not None)
