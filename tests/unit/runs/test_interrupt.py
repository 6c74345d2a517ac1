"""Ctrl-C and the signals that mean the same, once and twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from support.patience import PATIENCE_S

from fedradio.runs.interrupt import TERMINATION, Interrupts, terminate_like_ctrl_c

ALL = (signal.SIGINT, *TERMINATION)


@pytest.fixture(autouse=True)
def _as_python_has_them() -> Iterator[None]:
    """Handlers as they are in a fresh process, and put back afterwards."""
    before = {number: signal.getsignal(number) for number in ALL}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in TERMINATION:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_linux_has_all_three() -> None:
    assert TERMINATION == (signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("second", ALL)
@pytest.mark.parametrize("first", ALL)
def test_the_first_waits_for_the_round_and_the_second_does_not(first: signal.Signals, second: signal.Signals) -> None:
    before = {number: signal.getsignal(number) for number in ALL}
    told = []
    with Interrupts(lambda: told.append("stopping")) as interrupts:
        os.kill(os.getpid(), first)
        assert (interrupts.asked, told) == (True, ["stopping"])
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), second)
    assert told == ["stopping"]
    assert {number: signal.getsignal(number) for number in ALL} == before


@pytest.mark.parametrize("number", ALL)
def test_ignored_signals_and_other_handlers_stay(number: signal.Signals) -> None:
    heard = []
    for handler in (signal.SIG_IGN, lambda *_: heard.append(number)):
        signal.signal(number, handler)
        with Interrupts(lambda: pytest.fail("not ours")) as interrupts:
            assert signal.getsignal(number) == handler
            os.kill(os.getpid(), number)
        assert not interrupts.asked
        assert signal.getsignal(number) == handler
    assert heard == [number]


@pytest.mark.parametrize("number", TERMINATION)
def test_outside_of_rounds_they_raise_like_ctrl_c(number: signal.Signals) -> None:
    terminate_like_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    with Interrupts(lambda: None) as interrupts:
        os.kill(os.getpid(), number)
    assert interrupts.asked
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


def test_nohup_is_respected() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    terminate_like_ctrl_c()
    os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


DEAD_TERMINAL = """
import os, signal, sys
from fedradio.runs.interrupt import Interrupts

with Interrupts(lambda: None) as interrupts:
    os.write(1, b"ready")
    while not interrupts.asked:
        signal.pause()
    print("printed after the end of the terminal", flush=True)
os.write(3, b"done")
"""


def test_what_is_printed_after_the_terminal_has_gone_fails_nothing() -> None:
    """The process leads a session with a terminal of its own; closing that sends it SIGHUP."""
    screen, terminal = os.openpty()
    said, tell = os.pipe()
    code = f"import fcntl, os, termios; os.dup2({tell}, 3); fcntl.ioctl(1, termios.TIOCSCTTY, 0)\n{DEAD_TERMINAL}"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        pass_fds=(tell,),
        start_new_session=True,
    )
    os.close(terminal)
    os.close(tell)
    assert os.read(screen, 5) == b"ready"
    os.close(screen)
    assert process.wait(PATIENCE_S) == 0
    assert os.read(said, 10) == b"done"
    os.close(said)
