"""Graceful handling of Ctrl-C: the first one lets the round under way end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType


class Interrupts:
    """Context manager that postpones Ctrl-C: the first sets ``asked`` and calls ``stopping``, the second raises.

    The caller looks at ``asked`` between two rounds; the second Ctrl-C is a :class:`KeyboardInterrupt` at once. Nothing
    is changed outside of the main thread, or where another handler is installed.
    """

    def __init__(self, stopping: Callable[[], None]) -> None:
        self.asked = False
        self._stopping = stopping
        self._ours = False

    def __enter__(self) -> Interrupts:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._ours = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._stopping()
