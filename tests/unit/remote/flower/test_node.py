"""A device without a server: waited for, and then given up. With one: see ``test_superlink.py``."""

import pytest

pytest.importorskip("flwr")

from support.started import free_port

from fedradio.remote.flower.extra import need_flower
from fedradio.remote.flower.node import ConnectionFailed, Node


def test_a_server_that_does_not_answer_is_waited_for_and_given_up() -> None:
    need_flower("test")
    said = list[str]()
    with pytest.raises(ConnectionFailed, match="no server answers"):
        Node(f"127.0.0.1:{free_port()}", None, None, 1.0, said.append).__enter__()
    assert said == ["no server answers yet; waiting"]
