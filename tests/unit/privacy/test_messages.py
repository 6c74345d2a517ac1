"""Messages: octets of every field, lengths that are checked, texts without octets."""

import dataclasses

import pytest

from fedradio.privacy.messages import CellOrder, Fetch, Order, UplinkRequest, Usage
from fedradio.privacy.refusals import Refusal, Refused


def test_octets_by_hand() -> None:
    request = UplinkRequest(b"temp", bytes(8), bytes(116), bytes(16))
    assert request.size() == 4 + 8 + 116 + 16 == 144
    assert request.octets() == b"temp" + bytes(140)
    assert CellOrder(bytes(16), bytes(80), bytes(4)).size() == 100
    assert Order(bytes(16), bytes(80)).size() == 96
    assert Fetch(bytes(16), bytes(64)).size() == 80
    assert Usage(bytes(16), bytes(8)).size() == 24


def test_a_text_names_lengths_and_shows_no_octets() -> None:
    assert repr(Order(b"t" * 16, b"o" * 80)) == "Order(ticket 16, order 80)"


def test_fields_of_another_length_are_refused() -> None:
    for ticket, order in ((bytes(15), bytes(80)), (bytes(16), bytes(81)), ("t" * 16, bytes(80))):
        with pytest.raises(Refused) as error:
            Order(ticket, order)  # type: ignore[arg-type]
        assert error.value.refusal is Refusal.MALFORMED


def test_messages_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Order(bytes(16), bytes(80)).ticket = bytes(16)  # type: ignore[misc]
