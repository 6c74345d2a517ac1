"""News of a run: carried in time, never waited for; a wish to stop comes back like Ctrl-C."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from support.patience import PATIENCE_S

from fedradio.remote import courier as module
from fedradio.remote.courier import Courier, Mailbox

ROUND = {"event": "round", "done": 1, "rounds": 9}


def send_for_ever(courier: Courier) -> None:
    while True:
        courier.send(ROUND)


def test_a_mailbox_keeps_what_is_left_until_it_is_taken() -> None:
    box = Mailbox()
    assert not box.tell(3, [{"event": "noted", "text": "a"}])
    assert not box.tell(4, [])
    assert box.take() == [(3, {"event": "noted", "text": "a"})]
    assert box.take() == []
    box.stop()
    assert box.tell(3, [])


def test_everything_is_carried_and_of_rounds_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TELL_EVERY_S", 60.0)
    box = Mailbox()
    with Courier(lambda messages: box.tell(0, messages)) as courier:
        for done in range(5):
            courier.send({**ROUND, "done": done})
        courier.send({"event": "noted", "text": "a"})
        courier.send({"event": "end", "status": "complete"})
    assert box.take() == [(0, {"event": "noted", "text": "a"}), (0, {**ROUND, "done": 4})]
    assert courier.end["status"] == "complete"


def test_the_wish_to_stop_interrupts_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TELL_EVERY_S", 0.01)
    heard = threading.Event()

    def tell(messages: list[dict[str, Any]]) -> bool:
        heard.set()
        return True

    with Courier(tell) as courier:
        assert heard.wait(PATIENCE_S)
        with pytest.raises(KeyboardInterrupt):
            send_for_ever(courier)


def test_a_wish_to_stop_that_is_heard_once_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer is to stop, all later ones are not: the run is interrupted all the same."""
    monkeypatch.setattr(module, "TELL_EVERY_S", 0.001)
    answers, later = iter([True, False]), threading.Event()

    def tell(messages: list[dict[str, Any]]) -> bool:
        if (answer := next(answers, None)) is None:  # the second answer has been heard
            later.set()
        return bool(answer)

    with Courier(tell) as courier:
        assert later.wait(PATIENCE_S)
        with pytest.raises(KeyboardInterrupt):
            courier.send(ROUND)


def test_when_nobody_is_there_any_more_the_run_ends_after_its_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TELL_EVERY_S", 0.01)

    def tell(messages: list[dict[str, Any]]) -> bool:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"), Courier(tell) as courier, pytest.raises(KeyboardInterrupt):
        send_for_ever(courier)
