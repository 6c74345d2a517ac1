"""A device's connection to the server of its federation, over Flower's interface for nodes ("Fleet").

The device asks for letters and replies to them. Of all that a server can offer a node it takes letters only: it asks
for no application, so that no code comes with them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fedradio.core.errors import FedradioError
from fedradio.remote.flower.superlink import FIELD, RECORD

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

POLL_S = 0.25
"""Seconds between two questions for letters."""

HEARTBEAT_S = 10.0
"""Seconds within which a device gives a sign of life; the server gives it up after two of them."""

RETRY_S = 1.0

WHOLE_S, PIECE_S = 20.0, 0.02
"""Seconds to wait for the rest of a letter that the server is still writing, and between two looks for it."""


class ConnectionFailed(FedradioError):
    """A device cannot connect; the message says whether it is the way, the certificate or the key."""


class Node:
    """A device's connection, as a context manager: it is there while the context is open.

    ``ca``: certificate of the authority that signed the server's (None: without TLS, on one machine only); ``pair``:
    the device's key (None: a new one; without TLS any is taken). ``wait_s``: how long a server that cannot be reached
    is waited for.
    """

    def __init__(
        self,
        address: str,
        ca: Path | None,
        pair: tuple[EllipticCurvePrivateKey, EllipticCurvePublicKey] | None,
        wait_s: float,
        tell: Callable[[str], None],
    ) -> None:
        from flwr.supercore.primitives.asymmetric import generate_key_pairs, public_key_to_bytes
        from flwr.supernode.fleet_http_client import FleetHttpClient
        from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

        host = address.rpartition(":")[0].strip("[]")
        if host in ("127.0.0.1", "localhost", "::1"):
            os.environ["NO_PROXY"] = ",".join(filter(None, (os.environ.get("NO_PROXY"), host)))
        self._registers = ca is None
        private, public = pair or generate_key_pairs()
        self._public, self._wait_s, self._tell = public_key_to_bytes(public), wait_s, tell
        self._client: Any = FleetHttpClient.from_server_address(
            address, ca is None, None if ca is None else ca.read_bytes(), [NodeAuthHttpInterceptor(private, public)]
        )
        self._node: Any = None
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Node:
        self._connect()
        self._heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        from flwr.proto.fleet_pb2 import DeactivateNodeRequest

        self._ended.set()
        with suppress(Exception):  # the server may be gone already, and will give the device up by itself
            self._client.DeactivateNode(DeactivateNodeRequest(node_id=self._node.node_id))
        self._client.close()

    def serve(self, answer: Callable[[bytes], bytes], done: Callable[[], bool]) -> None:
        """Answer letters until ``done`` says so after one of them."""
        while not done():
            letter = self._patiently(self._next)
            if letter is None:
                time.sleep(POLL_S)
                continue
            message, data = letter
            reply = answer(data)
            self._patiently(partial(self._reply, message, reply))

    def _patiently(self, do: Callable[[], Any]) -> Any:
        """What ``do`` returns; a server that cannot be reached is waited for, and one that was restarted greeted."""
        import httpx

        since = time.monotonic()
        while True:
            try:
                return do()
            except httpx.TransportError as error:
                if time.monotonic() - since > self._wait_s:
                    raise ConnectionFailed(f"the server can no longer be reached: {error}") from None
            except httpx.HTTPStatusError as error:
                if error.response.status_code != httpx.codes.UNAUTHORIZED:
                    self._tell(f"the server refused a message: {_reason(error)}")
                    return None
                self._connect()
                return None
            time.sleep(RETRY_S)

    def _connect(self) -> None:
        """Make the device known to the server; says what is wrong where that fails."""
        import httpx
        from flwr.proto.fleet_pb2 import ActivateNodeRequest
        from flwr.proto.node_pb2 import Node as FlowerNode

        since, told = time.monotonic(), False
        while True:
            try:
                if self._registers:
                    self._register()
                asked = ActivateNodeRequest(public_key=self._public, heartbeat_interval=HEARTBEAT_S)
                self._node = FlowerNode(node_id=self._client.ActivateNode(asked).node_id)
                return
            except httpx.HTTPStatusError as error:
                raise ConnectionFailed(f"the server does not know this device's key: {_reason(error)}") from None
            except httpx.TransportError as error:
                if "CERTIFICATE" in str(error).upper() or "SSL" in str(error).upper():
                    reason = f"the server's certificate is not signed by --ca: {error}"
                    raise ConnectionFailed(reason) from None
                if time.monotonic() - since > self._wait_s:
                    raise ConnectionFailed(f"no server answers: {error}") from None
                if not told:
                    self._tell("no server answers yet; waiting")
                    told = True
            time.sleep(RETRY_S)

    def _register(self) -> None:
        """Make this device's key known to a server that takes any; one that was there before knows it already."""
        import httpx
        from flwr.proto.fleet_pb2 import RegisterNodeFleetRequest
        from flwr.supercore.error import ApiErrorCode, FlowerError

        try:
            self._client.RegisterNode(RegisterNodeFleetRequest(public_key=self._public))
        except httpx.HTTPStatusError as error:
            told = FlowerError.from_json(error.response.text)
            if told is None or told.code != ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
                raise

    def _beat(self) -> None:
        from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

        while not self._ended.wait(HEARTBEAT_S / 3):
            try:
                request = SendNodeHeartbeatRequest(node=self._node, heartbeat_interval=HEARTBEAT_S)
                self._client.SendNodeHeartbeat(request)
            except Exception:  # the next one may come through; a server that has gone is met by the next question
                continue

    def _next(self) -> tuple[Any, bytes] | None:
        """The next letter with its message; None if there is none, or if the server has taken it back."""
        from flwr.common.serde import message_from_proto
        from flwr.proto.fleet_pb2 import PullMessagesRequest
        from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
        from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
        from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

        pulled = self._client.PullMessages(PullMessagesRequest(node=self._node))
        if not pulled.messages_list:
            return None
        message, tree = message_from_proto(pulled.messages_list[0]), pulled.message_object_trees[0]
        run_id, name = message.metadata.run_id, message.metadata.message_id
        contents: dict[str, bytes] = {}
        for each in iterate_object_tree(tree):
            piece = self._content(run_id, each.object_id)
            if piece is None:
                return None
            contents[each.object_id] = piece
        confirmed = ConfirmMessageReceivedRequest(node=self._node, run_id=run_id, message_object_id=name)
        self._client.ConfirmMessageReceived(confirmed)
        try:
            whole: Any = inflate_object_from_contents(name, contents)
            return message, bytes(whole.content[RECORD][FIELD])
        except Exception:  # whatever a server has put together, it is no letter
            self._tell("the server sent an unreadable message")
            return None

    def _content(self, run_id: int, name: str) -> bytes | None:
        """A piece of a letter, which may be announced before it is there; None if it is withdrawn or never comes."""
        from flwr.proto.message_pb2 import PullObjectRequest

        asked = PullObjectRequest(node=self._node, run_id=run_id, object_id=name)
        since = time.monotonic()
        while (piece := self._client.PullObject(asked)).object_found:
            if piece.object_available:
                return bytes(piece.object_content)
            if time.monotonic() - since > WHOLE_S:
                break
            time.sleep(PIECE_S)
        return None

    def _reply(self, message: Any, reply: bytes) -> None:
        from flwr.app import ConfigRecord, Message, RecordDict
        from flwr.app.message import remove_content_from_message
        from flwr.common.serde import message_to_proto
        from flwr.proto.fleet_pb2 import PushMessagesRequest
        from flwr.proto.message_pb2 import PushObjectRequest
        from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

        answer = Message(RecordDict({RECORD: ConfigRecord({FIELD: reply})}), reply_to=message)
        answer.metadata.__dict__["_message_id"] = answer.object_id
        objects, tree = get_all_nested_objects(answer), get_object_tree(answer)
        bare = message_to_proto(remove_content_from_message(answer))
        request = PushMessagesRequest(node=self._node, messages_list=[bare], message_object_trees=[tree])
        pushed = self._client.PushMessages(request)
        for name in pushed.objects_to_push:
            content = PushObjectRequest(
                node=self._node,
                run_id=message.metadata.run_id,
                session_id=pushed.session_id,
                object_id=name,
                object_content=objects[name].deflate(),
            )
            self._client.PushObject(content)


def _reason(error: Any) -> str:
    """What the server says of a refused request."""
    from flwr.supercore.error import FlowerError

    told = FlowerError.from_json(error.response.text)
    return f"code {told.code}, {told.message}" if told else f"status {error.response.status_code}"
