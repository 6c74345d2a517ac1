"""The gate of a server: what requests may ask for, how large and how slow they may be, checked while they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

NOT_HERE, TOO_SLOW, TOO_LARGE = 404, 408, 413

PATIENCE_S = 60.0
"""Seconds that a request may take, beyond those that its bytes need at :data:`SLOWEST`."""

SLOWEST = 4096.0
"""Bytes per second of the slowest device that gets through, however large its request is."""


class Gate:
    """An ASGI application of which only paths below ``prefix`` are reached, by requests of at most ``most`` bytes.

    A request may take ``patience_s`` and the time of its bytes at :data:`SLOWEST`: one that trickles in is cut off.
    """

    def __init__(
        self,
        app: Callable[[Event, Receive, Send], Awaitable[None]],
        prefix: str,
        most: int,
        patience_s: float,
    ) -> None:
        self.app, self.prefix, self.most, self.patience_s = app, prefix, most, patience_s

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        if not scope["path"].startswith(self.prefix) or "/." in scope["path"] or "//" in scope["path"]:
            await _refuse(send, NOT_HERE)
            return
        read = await self._body(receive)
        if isinstance(read, int):
            await _refuse(send, read)
        elif read is not None:
            await self.app(scope, _given(read, receive), send)

    async def _body(self, receive: Receive) -> bytes | int | None:
        """The whole body of a request; the status of its refusal; None if its sender has left."""
        body, now = bytearray(), asyncio.get_running_loop().time
        began = now()
        while True:
            left = began + self.patience_s + len(body) / SLOWEST - now()
            try:
                event = await asyncio.wait_for(receive(), max(left, 0.0))
            except TimeoutError:
                return TOO_SLOW
            if event["type"] == "http.disconnect":
                return None
            body += event.get("body", b"")
            if len(body) > self.most:
                return TOO_LARGE
            if not event.get("more_body", False):
                return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """Events of a request whose body has been read."""
    events = [{"type": "http.request", "body": body, "more_body": False}]

    async def whole() -> Event:
        return events.pop() if events else await receive()

    return whole


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b""})
