"""The gate: only paths below the prefix, only requests that are small enough."""

import asyncio
import selectors
from typing import Any

import pytest

from fedradio.remote.flower.gate import Gate


def asked(path: str, *pieces: bytes, most: int = 10) -> tuple[int, bytes, int]:
    """Status of the answer, what the application got, and the pieces that nobody has read."""
    got, sent = bytearray(), list[Any]()
    events = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    events.append({"type": "http.request", "body": b"", "more_body": False})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        got.extend((await receive())["body"])
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> Any:
        return events.pop(0)

    async def send(event: Any) -> None:
        sent.append(event)

    asyncio.run(Gate(app, "/v1/fleet/", most, 60.0)({"type": "http", "path": path}, receive, send))
    return sent[0]["status"], bytes(got), len(events)


def test_what_passes() -> None:
    assert asked("/v1/fleet/pull", b"12345", b"67890") == (200, b"1234567890", 0)


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/control/run", "/v1/fleet", "/v1/fleet/../control", "/v1/fleet//x"])
def test_other_paths_do_not(path: str) -> None:
    assert asked(path, b"1") == (404, b"", 2)


def test_more_than_the_limit_is_not_read_to_its_end() -> None:
    assert asked("/v1/fleet/push", *[b"12345"] * 1000) == (413, b"", 998)


class Forwarding(selectors.SelectSelector):
    """Nothing comes from outside: instead of waiting, it sets its clock forward."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0.0)


def without_waiting() -> asyncio.AbstractEventLoop:
    """An event loop whose seconds take no time, so that they do not depend on what else the machine does."""
    selector = Forwarding()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    return loop


def trickled(pieces: int, pause_s: float, patience_s: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Status of the answer to a request whose pieces of 10 bytes come one by one; 100 bytes a second are enough."""
    monkeypatch.setattr("fedradio.remote.flower.gate.SLOWEST", 100.0)
    sent, left = list[Any](), pieces

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert len((await receive())["body"]) == 10 * pieces
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> Any:
        nonlocal left
        await asyncio.sleep(pause_s)
        left -= 1
        return {"type": "http.request", "body": b"0123456789", "more_body": left > 0}

    async def send(event: Any) -> None:
        sent.append(event)

    with asyncio.Runner(loop_factory=without_waiting) as runner:
        gate = Gate(app, "/v1/fleet/", 1000, patience_s)
        runner.run(gate({"type": "http", "path": "/v1/fleet/push"}, receive, send))
    return int(sent[0]["status"])


def test_a_request_that_trickles_in_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 0.3 s of patience, and 0.1 s for every piece that has come: n pieces may take 0.3 + 0.1 (n - 1) s."""
    assert trickled(20, 0.1, 0.3, monkeypatch) == 200  # slower than the patience, but it gets on
    assert trickled(3, 0.16, 0.3, monkeypatch) == 200
    assert trickled(3, 0.17, 0.3, monkeypatch) == 408
    assert trickled(10, 1.0, 0.3, monkeypatch) == 408
