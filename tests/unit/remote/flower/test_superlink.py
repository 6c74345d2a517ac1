"""Letters over Flower on this machine, with TLS and keys: there and back, late, and from a device started again."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("flwr")

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


def within(found: Callable[[], object], seconds: float = 20.0) -> object:
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


class Device(threading.Thread):
    """A device that returns letters backwards."""

    def __init__(self, keys: Path, port: int) -> None:
        super().__init__(daemon=True)
        self.node = Node(f"127.0.0.1:{port}", keys / "ca.crt", load_node_key(keys / "node-0.key"), 20.0, print)
        self.ended = threading.Event()
        self.hold = threading.Event()
        self.hold.set()

    def run(self) -> None:
        with self.node:
            self.node.serve(self.answer, self.ended.is_set)

    def answer(self, data: bytes) -> bytes:
        self.hold.wait(20)
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
    time.sleep(0.6)
    mailbox.drop([late])
    first.hold.set()
    soon = mailbox.push(node, b"soon")
    assert within(lambda: mailbox.pull([soon])) == {soon: b"noos"}
    assert mailbox.pull([late]) == {late: None}

    first.ended.set()
    first.join(10)
    second.start()  # the same key: the device was started again
    within(lambda: mailbox.online().get(node, mark) != mark)
    again = mailbox.push(node, b"again")
    assert within(lambda: mailbox.pull([again])) == {again: b"niaga"}
    second.ended.set()
    second.join(10)
    within(lambda: mailbox.online() == {})


def known(mailbox: FlowerMailbox) -> set[str]:
    return set(mailbox._state.get_message_ids_from_run_id(mailbox._run_id))


def test_a_key_that_is_not_known_and_an_authority_that_is_not_ours(
    keys: Path, port: int, mailbox: FlowerMailbox, tmp_path: Path
) -> None:
    pair = load_node_key(keys / "node-1.key")
    with pytest.raises(ConnectionFailed, match="does not know this device's key: code 2004"):
        Node(f"127.0.0.1:{port}", keys / "ca.crt", pair, 5.0, print).__enter__()
    with pytest.raises(ConnectionFailed, match="does not know this device's key"):  # nobody registers by himself
        Node(f"127.0.0.1:{port}", keys / "ca.crt", None, 5.0, print).__enter__()
    make_keys(tmp_path / "others", "localhost", 1)
    with pytest.raises(ConnectionFailed, match="certificate is not signed by --ca"):
        Node(f"127.0.0.1:{port}", tmp_path / "others" / "ca.crt", pair, 5.0, print).__enter__()
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


def test_connections_beyond_the_limit_and_idle_ones_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six connections three stay; these are closed, too, as they ask for nothing, and then a device gets in."""
    need_flower("test")
    monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", 1.5)
    port = free_port()
    with SuperLink("127.0.0.1", port, None, None, 1 << 20, connections=3) as link, ExitStack() as stack:
        asked = time.monotonic()
        made = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(6)]
        for connection in made:
            connection.setblocking(False)
        within(lambda: sum(map(closed, made)) >= 3)
        if time.monotonic() - asked < 1.0:
            assert sum(map(closed, made)) == 3
        within(lambda: all(map(closed, made)))
        assert time.monotonic() - asked >= 1.5
        with Node(f"127.0.0.1:{port}", None, None, 5.0, print):
            assert len(FlowerMailbox(link.state, link.run_id, 1000).online()) == 1
            time.sleep(2.0)  # a connection that has asked for something stays
            assert len(link._server.server_state.connections) >= 1


def test_slow_requests_and_half_ones_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that never comes, and a second request of which only the first line does."""
    need_flower("test")
    monkeypatch.setattr("fedradio.remote.flower.superlink.IDLE_S", 1.0)
    monkeypatch.setattr("fedradio.remote.flower.superlink.PATIENCE_S", 1.0)
    port = free_port()
    with SuperLink("127.0.0.1", port, None, None, 1 << 20), ExitStack() as stack:
        slow, half = (stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(2))
        slow.settimeout(10)
        slow.sendall(b"POST /v1/fleet/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
        half.settimeout(10)
        half.sendall(b"GET /v1/fleet/x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert half.recv(1000).startswith(b"HTTP/1.1 404")
        half.sendall(b"GET /v1/fleet/x HTTP/1.1\r\n")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
        for connection in (slow, half):
            connection.setblocking(False)
            within(lambda connection=connection: closed(connection), 10.0)


def test_a_letter_that_is_still_being_written_is_waited_for(
    keys: Path, port: int, mailbox: FlowerMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters are announced before all of their pieces are there. Of two, one is completed late, one is taken back."""
    device = Device(keys, port)
    device.start()
    (node,) = within(mailbox.online)  # type: ignore[misc]
    store = mailbox._state.store_object

    def later(*piece: object) -> object:
        time.sleep(0.4)
        return store(*piece)

    monkeypatch.setattr(mailbox._state, "store_object", later)
    slow = mailbox.push(node, b"slow")
    assert within(lambda: mailbox.pull([slow])) == {slow: b"wols"}
    monkeypatch.setattr(mailbox._state, "store_object", lambda *_: None)
    never = mailbox.push(node, b"never")
    time.sleep(0.6)  # the device has begun to read it
    mailbox.drop([never])
    monkeypatch.setattr(mailbox._state, "store_object", store)
    last = mailbox.push(node, b"last")
    assert within(lambda: mailbox.pull([last])) == {last: b"tsal"}
    device.ended.set()
    device.join(10)
