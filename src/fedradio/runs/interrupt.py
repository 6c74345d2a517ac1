"""Ctrl-C that waits for the end of the round under way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType


class Interrupts:
    """While this context lasts, the first Ctrl-C is noted in ``asked`` and told, for the caller to stop between two
    rounds; the second one raises :class:`KeyboardInterrupt` at once.

    Whoever has a handler of their own keeps it, and so does a thread that is not the main one.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self.asked = False
        self._tell = tell
        self._ours = False

    def __enter__(self) -> Interrupts:
        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
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
        self._tell()
