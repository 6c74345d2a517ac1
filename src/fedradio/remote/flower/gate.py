"""The gate of a server: what requests may ask for, and how large they may be, looked at while they are read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

NOT_HERE, TOO_LARGE = 404, 413


class Gate:
    """An ASGI application of which only paths below ``prefix`` are reached, by requests of at most ``most`` bytes."""

    def __init__(self, app: Callable[[Event, Receive, Send], Awaitable[None]], prefix: str, most: int) -> None:
        self.app, self.prefix, self.most = app, prefix, most

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        if not scope["path"].startswith(self.prefix) or "/." in scope["path"] or "//" in scope["path"]:
            await _refuse(send, NOT_HERE)
            return
        body = bytearray()
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            body += event.get("body", b"")
            if len(body) > self.most:
                await _refuse(send, TOO_LARGE)
                return
            if not event.get("more_body", False):
                break
        given = False

        async def whole() -> Event:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self.app(scope, whole, send)


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b""})
