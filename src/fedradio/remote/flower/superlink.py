"""Flower's SuperLink in the server's process: the way by which devices reach it, and a mailbox for letters.

Only the interface of devices is offered ("Fleet"), never those by which Flower takes orders or runs applications:
nobody can bring code, register a key or start a run from outside. Requests that are too large or too slow are cut off.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from fedradio.core.errors import FedradioError
from fedradio.remote.flower.gate import PATIENCE_S, Gate

FLEET = "/v1/fleet/"
"""Paths of the interface of devices."""

OPEN_S = 20.0
"""Seconds in which the server must be up."""

BEAT_S = 15.0
"""Seconds between two signs of life of the server's own task."""

IDLE_S = 20.0
"""Seconds within which a connection must have asked for something, the first time and again."""

RECORD, FIELD = "letter", "bytes"


class SuperLink:
    """A running SuperLink; ``keys`` are the public keys of the clients that may connect, by number (None: any device
    may, without TLS).

    ``tls``: files of the server's certificate and its key. ``most``: most bytes of a request. ``connections``: so many
    at a time. ``owner`` is the client whose key a node has.
    """

    def __init__(
        self,
        bind: str,
        port: int,
        tls: tuple[Path, Path] | None,
        keys: Mapping[int, bytes] | None,
        most: int,
        connections: int = 64,
    ) -> None:
        from flwr.superlink.main import create_app

        logging.getLogger("flwr").setLevel(logging.CRITICAL)
        app = create_app()
        app.state.enable_supernode_auth = keys is not None
        self.state: Any = app.state.linkstate_factory.state()
        self._allow_restarts()
        self.owner = None if keys is None else {self._register(key): number for number, key in keys.items()}
        self.run_id, self._task = self._begin()
        self._ended = threading.Event()
        self._server = _uvicorn(Gate(app, FLEET, most, PATIENCE_S), bind, port, tls, connections)
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._beat)]

    def __enter__(self) -> SuperLink:
        for thread in self._threads:
            thread.start()
        since = time.monotonic()
        while not self._server.started:
            if not self._threads[0].is_alive() or time.monotonic() - since > OPEN_S:
                self.__exit__(None, None, None)
                place = f"{self._server.config.host}:{self._server.config.port}"
                raise FedradioError(
                    f"cannot serve at {place}: the port may be in use, or the address does not belong to this machine"
                )
            time.sleep(0.02)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._server.should_exit = True
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=10)

    def _register(self, key: bytes) -> int:
        from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID

        return int(self.state.create_node(NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, key, 0))

    def _allow_restarts(self) -> None:
        """Let a device that was killed connect again at once, not only when its old connection has been given up."""
        activate, deactivate = self.state.activate_node, self.state.deactivate_node

        def again(node_id: int, heartbeat_interval: float) -> bool:
            deactivate(node_id)
            return bool(activate(node_id, heartbeat_interval))

        self.state.activate_node = again

    def _begin(self) -> tuple[int, int]:
        """Begin a run: the server's task is this process."""
        from flwr.common.constant import NOOP_FLWR_AID, SUPERLINK_NODE_ID
        from flwr.supercore.constant import NOOP_FEDERATION_ID, TaskType
        from flwr.supercore.task_identity import TaskIdentity

        state, kind = self.state, TaskType.SERVER_APP
        run_id = state.create_run(None, None, None, {}, NOOP_FEDERATION_ID, None, NOOP_FLWR_AID, kind)
        (run,) = state.get_run_info(run_ids=[run_id])
        task = run.primary_task_id
        if state.claim_task(task) is None or not state.activate_task(task):
            raise FedradioError("Flower refused to start a run")
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = run_id, SUPERLINK_NODE_ID, task
        return run_id, task

    def _listen(self) -> None:
        with suppress(SystemExit):  # how uvicorn says that it cannot listen
            self._server.run()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            self.state.acknowledge_task_heartbeat(self._task)


def _guarded(connections: int) -> Any:
    """The web server's protocol with a limit of connections, and of their patience."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol

    class Guarded(protocol):  # type: ignore[misc]
        """Closes connections beyond the limit, and one that asks for nothing."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > connections:
                transport.abort()
                return
            self.loop.call_later(IDLE_S, self.close_unless_asked, transport, None)

        def close_unless_asked(self, transport: Any, before: Any) -> None:
            """Close a connection whose last request is that of ``before`` (None: there was none), and answered."""
            if self.cycle is before and (before is None or before.response_complete):
                transport.abort()
            if not transport.is_closing():
                self.loop.call_later(IDLE_S, self.close_unless_asked, transport, self.cycle)

    return Guarded


def _uvicorn(app: Any, bind: str, port: int, tls: tuple[Path, Path] | None, connections: int) -> Any:
    """The web server, quiet, in a thread of this process."""
    import uvicorn

    certificate, key = tls or (None, None)
    config = uvicorn.Config(
        app,
        host=bind,
        port=port,
        log_config=None,
        log_level="critical",
        access_log=False,
        ws="none",
        http=_guarded(connections),
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    return server


class FlowerMailbox:
    """A :class:`~fedradio.remote.flower.mailbox.Mailbox` on the state of a SuperLink; ``most``: bytes of a reply."""

    def __init__(self, state: Any, run_id: int, most: int) -> None:
        self._state, self._run_id, self._most = state, run_id, most
        self._coming: dict[str, Any] = {}

    def online(self) -> dict[int, str]:
        nodes = self._state.get_node_info(node_ids=list(self._state.get_nodes(self._run_id)))
        return {node.node_id: node.last_activated_at for node in nodes}

    def push(self, node: int, letter: bytes) -> str:
        from flwr.app import ConfigRecord, Message, RecordDict
        from flwr.app.message import remove_content_from_message
        from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

        message = Message(RecordDict({RECORD: ConfigRecord({FIELD: letter})}), node, "train")
        message.metadata.__dict__["_run_id"] = self._run_id  # Flower takes that of the latest run of this process
        number = str(message.object_id)
        message.metadata.__dict__["_message_id"] = number
        objects, tree = get_all_nested_objects(message), get_object_tree(message)
        session = self._state.start_session(self._run_id)
        bare = remove_content_from_message(message)
        _, missing = self._state.store_message_and_object_tree(bare, tree, session)
        for name in missing:
            self._state.store_object(self._run_id, session, name, objects[name].deflate())
        return number

    def pull(self, wanted: Collection[str]) -> dict[str, bytes | None]:
        known = self._state.get_message_ids_from_run_id(self._run_id)
        asked = {number for number in wanted if number in known and number not in self._coming}
        for reply in self._state.get_message_res(asked, self._run_id) if asked else ():
            self._coming[reply.metadata.reply_to_message_id] = reply
        replies: dict[str, bytes | None] = {}
        for number in wanted:
            if number in self._coming:
                whole, letter = self._letter(self._coming[number])
                if whole:
                    replies[number] = letter
            elif number not in known:
                replies[number] = None
        self._forget(replies)
        return replies

    def drop(self, wanted: Collection[str]) -> None:
        self._forget(wanted)

    def _forget(self, numbers: Collection[str]) -> None:
        """Remove letters and their replies: what is still on its way is refused when it comes."""
        for number in numbers:
            reply = self._coming.pop(number, None)
            for name in (number, None if reply is None else reply.metadata.message_id):
                if name:
                    self._state.object_store.delete(name)
        self._state.delete_messages(message_ins_ids=set(numbers))

    def _letter(self, reply: Any) -> tuple[bool, bytes | None]:
        """Whether a reply is whole, and its letter; None if it is an error or no letter of ours."""
        from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
        from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

        if reply.has_error():
            return True, None
        store, name = self._state.object_store, reply.metadata.message_id
        try:
            names = [tree.object_id for tree in iterate_object_tree(store.get_object_tree(name))]
            contents = {each: store.get(each) for each in names}
            if any(content == b"" for content in contents.values()):
                return False, None
            if None in contents.values() or sum(map(len, contents.values())) > self._most:
                return True, None
            whole: Any = inflate_object_from_contents(name, contents)
            letter = whole.content[RECORD][FIELD]
        except Exception:  # whatever a device has put together, it is no letter
            return True, None
        return True, letter if isinstance(letter, bytes) else None
