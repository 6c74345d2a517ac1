"""The server of the live page: four read-only resources, for this machine only.

It listens on 127.0.0.1. The Host header of a request must be that address or localhost, so that other sites cannot
reach it by DNS rebinding. Python's own ``http.server`` is sufficient for a fixed table of resources on one machine: no
path is ever looked up on disk.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fedradio._version import __version__
from fedradio.core.errors import Problem, SpecError
from fedradio.report.live.latest import Latest
from fedradio.report.page.document import FIRST, asset, content_policy, plotly_script

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
"""Where the server listens, and the host names that it accepts."""

PORT = 8765
"""The default port, if it is free."""

WAIT_S = 25.0
"""How long a page that asks for updates waits for an answer, in seconds."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{content_policy([FIRST], served=True)}; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Sent with every response: no caching, nothing loaded from elsewhere, no embedding or reading by other sites."""


class LiveServer:
    """The live page of a folder, served by its own thread until it is closed."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.latest = Latest(folder)
        self._server = _listening(port)
        self._server.texts = {
            "/": ("text/html", lambda: self.latest.now().html),
            "/plotly.js": ("text/javascript", plotly_script),
            "/page.js": ("text/javascript", lambda: asset("page.js")),
            "/live.js": ("text/javascript", lambda: asset("live.js", "fedradio.report.live")),
        }
        self._server.news = self._news
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self._server.server_port}/"

    def close(self, most_s: float = 5.0) -> None:
        """Give open pages the final state, within a time limit, and stop."""
        self.latest.closing = True
        until = time.monotonic() + (most_s if self._server.asked_at is not None else 0.0)
        while time.monotonic() < until and not self._server.told_all():
            time.sleep(0.05)
        self._server.shutdown()
        self._server.server_close()

    def _news(self, version: str) -> dict[str, Any]:
        """The reply to a page that shows ``version``: the version to fetch, and whether more will follow."""
        found = self.latest.after(version, WAIT_S)
        return {"version": found.version, "closing": self.latest.closing}


class _Server(ThreadingHTTPServer):
    """The table of resources, and the times of the last requests."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # where it would let two programs listen on one port
    texts: dict[str, tuple[str, Callable[[], str]]]
    news: Callable[[str], dict[str, Any]]
    asked_at: float | None = None
    waiting = 0

    def __init__(self, port: int) -> None:
        self.counting = threading.Lock()
        super().__init__((ADDRESS, port), _Handler)

    def server_bind(self) -> None:
        """Bind without the network lookup of this machine's name that ``http.server`` would make."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    def told_all(self) -> bool:
        """Whether no page is waiting for an answer or about to fetch an announced version."""
        return self.waiting == 0 and self.asked_at is not None and time.monotonic() - self.asked_at > 1.0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore pages that were closed in the middle of a response."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD requests for the table of resources, and nothing else."""

    server: _Server
    server_version = f"fedradio/{__version__}"
    sys_version = ""
    timeout = 30.0

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        port = self.server.server_port
        if self.headers.get("Host", "").lower() not in {f"{name}:{port}" for name in NAMES}:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", f"ask for {ADDRESS}:{port}\n")
        elif address.path == "/news":
            version = parse_qs(address.query).get("after", [""])[0]
            self._send(HTTPStatus.OK, "application/json", json.dumps(self._wait(version)))
        elif address.path in self.server.texts:
            self.server.asked_at = time.monotonic()
            kind, text = self.server.texts[address.path]
            self._send(HTTPStatus.OK, kind, text())
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "there is nothing at this address\n")

    def _wait(self, version: str) -> dict[str, Any]:
        """Answer a page that asks for updates, which may take a while."""
        with self.server.counting:
            self.server.waiting += 1
        try:
            return self.server.news(version)
        finally:
            self.server.asked_at = time.monotonic()
            with self.server.counting:
                self.server.waiting -= 1

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not printed."""


def _listening(port: int | None) -> _Server:
    """A server on the given port; by default on :data:`PORT`, or on any free port."""
    for wanted in [PORT, 0] if port is None else [port]:
        try:
            return _Server(wanted)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            why = (
                "is in use by another program"
                if error.errno == errno.EADDRINUSE
                else "requires permissions that this user does not have"
            )
    raise SpecError(Problem("--port", why, "leave out --port to use a free one", port))
