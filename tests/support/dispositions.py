"""Signal dispositions of the test process, which every process that a test starts inherits."""

from __future__ import annotations

import signal
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP", "SIGTERM") if hasattr(signal, name))


def heed_ending_signals() -> None:
    """Let processes started from here react to signals that this process was told to ignore.

    ``nohup`` and background jobs of scripts start the tests with SIGHUP or SIGINT ignored. An ignored signal stays
    ignored in every child process, so a test that interrupts a run would wait for ever. A handler does not survive the
    start of a program: with one in place, children begin with the default. For SIGINT it is Python's own handler, from
    which runs in this process take over. Note: for the others the handler does nothing, so the tests go on after a
    hang-up, as ``nohup`` promises.
    """
    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _go_on)


def _go_on(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
