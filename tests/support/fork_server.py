"""Python code in forked processes: the server has imported torch and the package already, which takes two CPU seconds.

Each test process has one server, started with the first request; it has one thread. A forked process has its own
folder, environment, process group, streams and default signals. Only ``sys.modules`` differs from a fresh interpreter:
for tests of imports there is a second server, which has imported nothing.
"""

from __future__ import annotations

import atexit
import fcntl
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
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO

from support.patience import PATIENCE_S

MODULES = ("typer", "fedradio.report.terminal.run_progress", "fedradio.sweeps.sweep", "fedradio.sweeps.worker")
"""What the server imports besides what a run needs: no command, because consoles read the environment when made."""

NUMBER = struct.Struct("i")
HIGH = 500
"""Where files wait until they get their numbers."""

WORKER = "sweeps.worker"
"""The name of forked workers of sweeps in ``/proc``."""

_ways: dict[bool, socket.socket] = {}
_processes: list[subprocess.Popen[bytes]] = []


def way(warm: bool) -> socket.socket:
    """The way to a server, which ends when nobody has it any more; what it forks has it too."""
    if warm not in _ways:
        _ways[warm], theirs = socket.socketpair()
        code = f"from support.fork_server import serve; serve({theirs.fileno()}, {warm})"
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-P", "-c", code]
        with theirs:
            _processes.append(subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()]))
    return _ways[warm]


def stop() -> None:
    """End the servers, so that their CPU time counts among that of the tests."""
    for each in _ways.values():
        each.close()
    for process in _processes:
        process.wait(PATIENCE_S)


class ForkedProcess:
    """``python -P -c CODE ARGUMENTS`` in a folder, as :class:`subprocess.Popen` with pipes of text would start it.

    With ``files``, the process has these, by their numbers there, and no pipes. Unless it is ``warm``, nothing is
    imported there.
    """

    stdout: TextIO
    stderr: TextIO

    def __init__(
        self,
        here: Path,
        code: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        files: Mapping[int, int] | None = None,
        warm: bool = True,
    ) -> None:
        self.returncode: int | None = None
        self._status, status = socket.socketpair()
        with ExitStack() as ends:
            if files is None:
                (out, stdout), (err, stderr) = os.pipe(), os.pipe()
                self.stdout, self.stderr = open(out), open(err)  # noqa: SIM115
                files = {0: os.open(os.devnull, os.O_RDONLY), 1: stdout, 2: stderr}
                for number in files.values():
                    ends.callback(os.close, number)
            request = ends.enter_context(tempfile.TemporaryFile("w+"))
            json.dump([str(here), code, arguments, dict(os.environ if env is None else env), [*files], warm], request)
            request.seek(0)
            ends.enter_context(status)
            given = [request.fileno(), status.fileno(), way(warm).fileno(), *files.values()]
            socket.send_fds(way(warm), [b"!"], given)
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


def warm_up() -> None:
    """Import all that runs and sweeps need."""
    from fedradio.core import registry
    from fedradio.runs.run import run
    from fedradio.spec.spec import check_spec

    for name in MODULES:
        import_module(name)
    run(check_spec({"rounds": 1, "topology": {"kind": "flat", "clients": 1}, "model": "logistic"}), workers=1)
    registry._plugins_loaded = False  # a process may see packages that this one does not


def serve(number: int, warm: bool) -> NoReturn:
    """Fork twice for each request: a process that executes the code, and one that waits for its end."""
    if warm:
        warm_up()
    gc.freeze()
    with socket.socket(fileno=number) as requests:
        while True:
            asked, received, _, _ = socket.recv_fds(requests, 1, 16)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not asked:
                os._exit(0)
            if os.fork() == 0:
                break
            for each in received:
                os.close(each)
    child = os.fork()
    if child == 0:
        execute(received)
    status = os.dup(received[1])
    for each in received:
        os.close(each)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):  # whoever asked for it may be gone
        os.write(status, NUMBER.pack(code))
    os._exit(0)


def execute(received: Sequence[int]) -> NoReturn:
    """Execute the code of a request in this process, and end it."""
    request, status, to_server, *streams = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, HIGH) for each in received]
    for each in received:
        os.close(each)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    with open(request) as file:
        here, code, arguments, environment, numbers, warm = json.load(file)
    _ways[warm] = socket.socket(fileno=to_server)
    for number, stream in zip(numbers, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0), open(1, "w", errors=sys.stdout.errors)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors=sys.stderr.errors)  # noqa: SIM115
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


def fork_worker(command: Sequence[str], *, pass_fds: Sequence[int], **how: Any) -> ForkedProcess:
    """The worker of a pool, which calls this in place of :class:`subprocess.Popen`."""
    code = f"open('/proc/self/comm', 'w').write('{WORKER}'); from fedradio.sweeps.worker import main; main()"
    with open(os.devnull) as nothing:
        files = {0: nothing.fileno(), 1: how["stdout"].fileno(), 2: how["stderr"].fileno()}
        return ForkedProcess(Path.cwd(), code, *command[-2:], files=files | {number: number for number in pass_fds})
