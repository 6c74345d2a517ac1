"""Joins a federation as a device: checks samples and state first, then answers the server's messages until the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import locked
from fedradio.remote.flower.extra import need_flower
from fedradio.remote.flower.folders import read_folder
from fedradio.remote.flower.keys import check_authority, kept_key, load_node_key
from fedradio.remote.flower.serve import is_loopback
from fedradio.remote.flower.trainer import Dismissed, Tell, Trainer

if TYPE_CHECKING:
    from fedradio.remote.flower.node import Node


KEY_FILE = "node.key"
"""Name of the key of a device without TLS, in its state."""


@dataclass(frozen=True)
class Credentials:
    """A device's private key, and the certificate of the authority that vouches for the server."""

    key: Path
    ca: Path


def check_address(address: str) -> str:
    """``HOST:PORT``; anything else is refused."""
    host, colon, port = address.rpartition(":")
    if not host or not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise SpecError(Problem("HOST:PORT", "not an address with a port", "such as 192.168.1.10:9092", address))
    return address


def join_federation(
    address: str,
    client: int,
    credentials: Credentials | None,
    data: Path | None,
    state: Path | None,
    wait_s: float,
    tell: Tell,
) -> None:
    """Answer the server's letters as a client, until the run is over; a device that is sent away raises the reason."""
    need_flower("join")
    from fedradio.remote.flower.node import Node

    if credentials is None and not is_loopback(address.rpartition(":")[0].strip("[]")):
        reason = "without certificates and keys, a federation works on one machine only"
        raise SpecError(Problem("--insecure", reason, "use --key F --ca F", address))
    pair = None if credentials is None else load_node_key(credentials.key)
    ca = None if credentials is None else credentials.ca
    if ca is not None:
        check_authority(ca)
    samples = None if data is None else read_folder(data)
    if state is None:
        tell("without --state DIR, this device starts over when it is restarted")
        _answer(Node(address, ca, pair, wait_s, tell), Trainer(client, samples, None, tell))
        return
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {state}: {error.strerror or error}") from None
    with locked(state):
        known = pair or kept_key(state / KEY_FILE)  # without TLS the server takes any key, and knows a device by it
        _answer(Node(address, ca, known, wait_s, tell), Trainer(client, samples, state, tell))


def _answer(node: Node, trainer: Trainer) -> None:
    """Answer letters as long as the server wants it."""
    with node:
        trainer.tell(f"connected as client {trainer.number}")
        node.serve(trainer.answer, lambda: trainer.closed is not None)
    if trainer.failed is not None:
        raise trainer.failed
    if trainer.closed:
        raise Dismissed(f"the server refused this device: {trainer.closed}")
