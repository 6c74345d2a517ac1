"""Ctrl-C, once and twice."""

import os
import signal

import pytest

from fedradio.runs.interrupt import Interrupts


def test_ctrl_c_waits_for_the_round_and_the_second_one_does_not() -> None:
    told = []
    with Interrupts(lambda: told.append("stopping")) as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert (interrupts.asked, told) == (True, ["stopping"])
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
