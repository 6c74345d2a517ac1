"""Letters over Flower on this machine, with TLS and keys: there and back, late, and from a device started again."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr")

from support.patience import PATIENCE_S
from support.started import free_port

from fedradio.core.errors import FedradioError
from fedradio.remote.flower.extra import need_flower
from fedradio.remote.flower.keys import load_node_key, make_keys, public_keys, server_files
from fedradio.remote.flower.node import ConnectionFailed, Node
from fedradio.remote.flower.superlink import FlowerMailbox, SuperLink


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("federation") / "keys"
    make_keys(folder, "localhost", 2)
    return folder


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def mailbox(keys: Path, port: int) -> Iterator[FlowerMailbox]:
    """A server that knows the first of two keys."""
    need_flower("test")
    files = server_files(keys)
    with SuperLink(
        "127.0.0.1", port, (files["server.crt"], files["server.key"]), {7: public_keys(keys)[0]}, 1 << 20
    ) as up:
        assert up.owner is not None
        assert list(up.owner.values()) == [7]
        yield FlowerMailbox(up.state, up.run_id, 100_000)


def within(found: Callable[[], object]) -> object:
    end = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


class Device(threading.Thread):
    """A device that returns letters backwards."""

    def __init__(self, keys: Path, port: int) -> None:
        super().__init__(daemon=True)
        self.node = Node(f"127.0.0.1:{port}", keys / "ca.crt", load_node_key(keys / "node-0.key"), PATIENCE_S, print)
        self.heard: list[bytes] = []
        self.ended = threading.Event()
        self.hold = threading.Event()
        self.hold.set()

    def run(self) -> None:
        with self.node:
            self.node.serve(self.answer, self.ended.is_set)

    def answer(self, data: bytes) -> bytes:
        self.heard.append(data)
        assert self.hold.wait(PATIENCE_S)
        return data[::-1] * (100 if data == b"too large" * 1000 else 1)


def test_letters_go_there_and_back(keys: Path, port: int, mailbox: FlowerMailbox) -> None:
    assert mailbox.online() == {}
    first, second = Device(keys, port), Device(keys, port)
    first.start()
    within(mailbox.online)
    ((node, mark),) = mailbox.online().items()
    number = mailbox.push(node, b"abc" * 10_000)
    within(lambda: mailbox.pull([number]) == {number: b"cba" * 10_000} or number not in known(mailbox))
    assert mailbox.pull([number]) == {number: None}  # once
    large = mailbox.push(node, b"too large" * 1000)
    assert within(lambda: mailbox.pull([large])) == {large: None}

    first.hold.clear()  # it is busy, and its reply no longer wanted when it comes
    late = mailbox.push(node, b"late")
    within(lambda: b"late" in first.heard)
    mailbox.drop([late])
    first.hold.set()
    soon = mailbox.push(node, b"soon")
    assert within(lambda: mailbox.pull([soon])) == {soon: b"noos"}
    assert mailbox.pull([late]) == {late: None}

    first.ended.set()
    first.join()
    second.start()  # the same key: the device was started again
    within(lambda: mailbox.online().get(node, mark) != mark)
    again = mailbox.push(node, b"again")
    assert within(lambda: mailbox.pull([again])) == {again: b"niaga"}
    second.ended.set()
    second.join()
    within(lambda: mailbox.online() == {})


def known(mailbox: FlowerMailbox) -> set[str]:
    return set(mailbox._state.get_message_ids_from_run_id(mailbox._run_id))


def test_a_key_that_is_not_known_and_an_authority_that_is_not_ours(
    keys: Path, port: int, mailbox: FlowerMailbox, tmp_path: Path
) -> None:
    pair = load_node_key(keys / "node-1.key")
    with pytest.raises(ConnectionFailed, match="does not know this device's key: code 2004"):
        Node(f"127.0.0.1:{port}", keys / "ca.crt", pair, PATIENCE_S, print).__enter__()
    with pytest.raises(ConnectionFailed, match="does not know this device's key"):  # nobody registers by himself
        Node(f"127.0.0.1:{port}", keys / "ca.crt", None, PATIENCE_S, print).__enter__()
    make_keys(tmp_path / "others", "localhost", 1)
    with pytest.raises(ConnectionFailed, match="certificate is not signed by --ca"):
        Node(f"127.0.0.1:{port}", tmp_path / "others" / "ca.crt", pair, PATIENCE_S, print).__enter__()
    assert mailbox.online() == {}


def test_a_port_that_is_taken(port: int, mailbox: FlowerMailbox) -> None:
    with pytest.raises(FedradioError, match="the port may be in use"), SuperLink("127.0.0.1", port, None, None, 1000):
        pass


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection."""
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def stays(protocol: Any, before: Any) -> bool:
    """Whether a connection stays open when the server looks at it now; ``before``: its request at the last look."""

    async def look() -> bool:
        protocol.close_unless_asked(protocol.transport, before)
        return not protocol.transport.is_closing()

    return asyncio.run_coroutine_threadsafe(look(), protocol.loop).result(PATIENCE_S)


def served(link: SuperLink, connection: socket.socket) -> Any:
    """The server's side of a connection."""
    number = connection.getsockname()[1]
    return within(lambda: next((one for one in [*link._server.server_state.connections] if one.client[1] == number), 0))


def asking(stack: ExitStack, port: int) -> socket.socket:
    """A connection that has asked for something, and got its answer."""
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
    connection.settimeout(PATIENCE_S)
    connection.sendall(b"GET /v1/fleet/x HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 404")
    return connection


def test_connections_beyond_the_limit_and_idle_ones_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six connections three stay. Three that ask for nothing are closed, too, and then a device gets in."""
    need_flower("test")
    port = free_port()
    monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", PATIENCE_S)
    with SuperLink("127.0.0.1", port, None, None, 1 << 20, connections=3) as link, ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(6)]
        for connection in made:
            connection.setblocking(False)
        within(lambda: sum(map(closed, made)) >= 3)
        assert sum(map(closed, made)) == 3
        for connection in made:
            connection.close()
        within(lambda: not link._server.server_state.connections)

        monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", 0.3)
        began = time.monotonic()
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3)]
        for connection in idle:
            connection.setblocking(False)
        within(lambda: all(map(closed, idle)))
        assert time.monotonic() - began >= 0.3
        monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", PATIENCE_S)
        with Node(f"127.0.0.1:{port}", None, None, PATIENCE_S, print):
            assert len(FlowerMailbox(link.state, link.run_id, 1000).online()) == 1


def test_a_connection_stays_until_it_has_asked_for_nothing_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    need_flower("test")
    port = free_port()
    monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", PATIENCE_S)
    with SuperLink("127.0.0.1", port, None, None, 1 << 20) as link, ExitStack() as stack:
        connection = asking(stack, port)
        protocol = served(link, connection)
        within(lambda: protocol.cycle.response_complete)
        monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", 0.05)
        assert stays(protocol, None)
        assert connection.recv(1000) == b""  # the next look was by itself


def test_slow_requests_and_half_ones_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that never comes, and a second request of which only the first line does."""
    need_flower("test")
    monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", PATIENCE_S)
    monkeypatch.setattr("fedradio.remote.flower.superlink.PATIENCE_S", 0.2)
    port = free_port()
    with SuperLink("127.0.0.1", port, None, None, 1 << 20) as link, ExitStack() as stack:
        half, slow = asking(stack, port), stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        protocol = served(link, half)
        half.sendall(b"GET /v1/fleet/x HTTP/1.1\r\n")
        slow.settimeout(PATIENCE_S)
        slow.sendall(b"POST /v1/fleet/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
        within(lambda: protocol.cycle.response_complete)
        assert not stays(protocol, protocol.cycle)
        for connection in (slow, half):
            connection.setblocking(False)
            within(lambda connection=connection: closed(connection))


def test_a_letter_that_is_still_being_written_is_waited_for(
    keys: Path, port: int, mailbox: FlowerMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters are announced before all of their pieces are there. Of two, one is completed late, one is taken back."""
    device = Device(keys, port)
    device.start()
    (node,) = within(mailbox.online)  # type: ignore[misc]
    store, read, asked = mailbox._state.store_object, mailbox._state.get_object, threading.Event()

    def reading(*which: object) -> object:
        """What the device is given of a piece, which may not be there yet."""
        found = read(*which)
        asked.set()
        return found

    def later(*piece: object) -> object:
        assert asked.wait(PATIENCE_S)
        return store(*piece)

    monkeypatch.setattr(mailbox._state, "get_object", reading)
    monkeypatch.setattr(mailbox._state, "store_object", later)
    slow = mailbox.push(node, b"slow")
    assert within(lambda: mailbox.pull([slow])) == {slow: b"wols"}
    monkeypatch.setattr(mailbox._state, "store_object", lambda *_: None)
    asked.clear()
    never = mailbox.push(node, b"never")
    assert asked.wait(PATIENCE_S)  # the device has begun to read it
    mailbox.drop([never])
    monkeypatch.setattr(mailbox._state, "store_object", store)
    last = mailbox.push(node, b"last")
    assert within(lambda: mailbox.pull([last])) == {last: b"tsal"}
    device.ended.set()
    device.join()
