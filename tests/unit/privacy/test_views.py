"""Views: what a party has seen, by name, by octets and by ticket."""

from fedradio.privacy.messages import CellOrder, Order, Payload
from fedradio.privacy.secret import Secret
from fedradio.privacy.views import View


def seen() -> View:
    view = View("ES")
    view.saw(Order(b"t" * 16, b"o" * 80))
    view.saw(Payload(b"before the-tag-of-content behind"))
    view.knows(ticket=b"t" * 16, content=5, payload_key=Secret(b"k" * 32))
    return view


def test_values_are_found_by_name_and_long_ones_in_any_octets() -> None:
    view = seen()
    assert view.holds("content", 5)
    assert not view.holds("content", 6)
    assert view.holds("ticket", b"t" * 16)
    assert view.holds("tag", b"the-tag-of-content")
    assert not view.holds("temp", b"tttt")  # four octets that are there by chance
    assert view.holds("payload_key", Secret(b"k" * 32))
    assert view.holds("anything", Secret(b"oooooooo"))
    assert not view.holds("payload_key", Secret(b"l" * 32))
    assert view.holds("order", int.from_bytes(b"o" * 80, "big"))


def test_what_a_ticket_tells() -> None:
    view = seen()
    assert view.by_ticket("content") == {b"t" * 16: 5}
    view.saw(CellOrder(b"u" * 16, b"o" * 80, b"temp"))
    assert view.by_ticket("subscriber", "temp") == {b"u" * 16: b"temp"}
    view.knows(ticket=b"v" * 16, temp=b"temp", subscriber=3)
    assert view.by_ticket("subscriber", "temp")[b"v" * 16] == 3  # the first name goes before
    assert view.by_ticket("temp", "subscriber")[b"v" * 16] == b"temp"
    assert view.names() == {"ticket", "order", "payload", "content", "payload_key", "temp", "subscriber"}
    assert view.last("content") == 5
    assert view.last("tag") is None


def test_a_view_counts_and_shows_nothing() -> None:
    view = seen()
    assert repr(view) == "View(ES: 2 messages, 1 facts)"
    assert view.octets().startswith(b"t" * 16 + b"o" * 80)
    view.clear()
    assert (view.messages, view.facts) == ([], [])
