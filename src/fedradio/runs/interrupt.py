"""Graceful handling of Ctrl-C, SIGTERM and SIGHUP, which mean the same: the first one lets the round under way end."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

TERMINATION = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals by which systems end a program; Windows has no SIGHUP."""


class Interrupts:
    """Context manager that postpones Ctrl-C, SIGTERM and SIGHUP: the first sets ``asked``, the second raises.

    The first also calls ``stopping``; the caller looks at ``asked`` between two rounds. The second, of whatever kind,
    is a :class:`KeyboardInterrupt` at once. Nothing is changed outside of the main thread, for signals that are ignored
    (as ``nohup`` does), and where another handler is installed.
    """

    def __init__(self, stopping: Callable[[], None]) -> None:
        self.asked = False
        self._stopping = stopping
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *TERMINATION):
                handler = signal.getsignal(number)
                default = number in TERMINATION and handler == signal.SIG_DFL
                if default or handler is signal.default_int_handler:
                    self._before[number] = handler
                    signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        _leave_dead_terminal()
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._stopping()


def terminate_like_ctrl_c() -> None:
    """From now on SIGTERM and SIGHUP raise :class:`KeyboardInterrupt` as Ctrl-C does, unless they are ignored."""
    for number in TERMINATION:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _leave_dead_terminal() -> None:
    """Let what is still printed go nowhere, if the terminal is gone: there it would fail, and the run with it."""
    with suppress(OSError):
        for stream in (1, 2):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)
