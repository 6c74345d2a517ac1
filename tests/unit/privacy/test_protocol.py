"""The protocol as a whole: octets of every step, what the parties' transcripts hold, epochs, suites and paddings."""

from itertools import combinations

import pytest

from fedradio.privacy.messages import Message, Payload, TicketedRequest
from fedradio.privacy.padding import PADDINGS
from fedradio.privacy.protocol import MadeFiles, Service, ask, walk
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.steps import ACCESS, BACKHAUL, CHARGING, FETCHING, PARTIES
from fedradio.privacy.tags import TagTable
from fedradio.privacy.trials import small_service, up_to_csp
from fedradio.privacy.views import View

SIZE = 1000
FILES = MadeFiles((SIZE,) * 6)


def service() -> Service:
    return Service.start([0, 0, 1], FILES)


def test_octets_of_the_twelve_steps() -> None:
    """The table of the protocol; a file of 1000 octets is one chunk of 1016."""
    made = service()
    first, second = ask(made, 0, 3), ask(made, 1, 3)
    octets = {step.number: step.octets for step in second.steps}
    assert octets == {
        "1": None,
        "2": 144,
        "3": 148,
        "4": 132,
        "5": None,
        "6": 96,
        "7": 100,
        "8": 96,
        "9": None,
        "10": 16 + 1016,
        "11": 1016,
        "12": None,
        "$": 24,
    }
    missed = {step.number: step.octets for step in first.steps if step.number.startswith("9")}
    assert missed == {"9": None, "9a": 80, "9b": 84, "9c": 80, "9d": 1032, "9e": 1032, "9f": 1032, "9g": None}
    assert (first.hit, second.hit, first.octets) == (False, True, SIZE)


def test_control_bits_of_runs_are_those_of_real_messages() -> None:
    contracts = pytest.importorskip("fedradio.core.contracts.placement")
    made = service()
    for client in (0, 2):
        done = ask(made, client, 1)
        assert done.bits(ACCESS) == contracts.ACCESS_CONTROL_BITS
        assert done.bits(BACKHAUL) == contracts.BACKHAUL_CONTROL_BITS
        assert done.bits(CHARGING) == contracts.CHARGING_BITS
        assert done.bits(FETCHING) == (0 if done.hit else contracts.FETCH_BITS)
    assert (done.bits(ACCESS), done.bits(BACKHAUL)) == (1152, 3808)
    missed = ask(made, 1, 5)
    assert not missed.hit
    assert (missed.bits(CHARGING), missed.bits(FETCHING)) == (192, 1312)


def test_every_client_gets_its_file() -> None:
    made = service()
    for client in range(3):
        for content in range(6):
            assert ask(made, client, content).octets == SIZE
    assert FILES.read(1) != FILES.read(2)
    assert FILES.largest() == SIZE


def shape(view: View) -> list[tuple[str, dict[str, int]]]:
    return [(type(message).__name__, message.lengths()) for message in view.messages]


def clear(messages: list[Message]) -> list[object]:
    """Fields that are neither random nor encrypted."""
    names = ("temp", "count", "bs", "octets_sent")
    return [{name: getattr(message, name) for name in names if hasattr(message, name)} for message in messages]


def test_base_station_and_isp_see_the_same_whatever_is_asked() -> None:
    """2.5 a: names, lengths and clear fields, for the same user and count."""
    views = []
    for content in (1, 4):
        made = service()
        for device, temp in zip(made.devices, (b"aaaa", b"bbbb", b"cccc"), strict=True):
            made.operator.enrol(device.subscriber, temp, device.sim)
            device.temp = temp
        ask(made, 0, content)
        views.append(made.views(0))
    for party in ("BS", "ISP"):
        first, second = (view[party] for view in views)
        assert shape(first) == shape(second)
        assert clear(first.messages) == clear(second.messages)


def pieces(octets: bytes) -> set[bytes]:
    return {octets[at : at + 8] for at in range(len(octets) - 7)}


def test_nothing_on_the_way_links_contents() -> None:
    """2.5 a: no tag of any epoch in any octets, and no two sealed texts, orders or payloads share 8 octets."""
    made = service()
    tables, texts = [], []
    for epoch in range(2):
        if epoch:
            made.new_epoch()
        tables.append(TagTable.of(made.provider._table.key, 6))
        for client in (0, 1, 2, 0):
            ask(made, client, 3)
    delivered = [message for station in made.stations for message in station.view.messages]
    texts += [message.payload[:64] for message in delivered if isinstance(message, Payload)]
    texts += [m.order for m in made.operator.view.messages if type(m).__name__ == "Order"]
    texts += [m.sealed for m in made.operator.view.messages if isinstance(m, TicketedRequest)]
    assert len(texts) == 3 * 8
    assert all(not pieces(first) & pieces(second) for first, second in combinations(texts, 2))
    seen = b"".join(view.octets() for view in (made.operator.view, *(station.view for station in made.stations)))
    assert not any(tag in seen for table in tables for tag in table.content)
    assert not {"content", "tag", "payload_key", "epoch_key"} & made.operator.view.names()


def test_the_provider_does_not_know_who_and_where() -> None:
    """2.5 b."""
    made = service()
    ask(made, 0, 3)
    view = made.provider.view
    assert not {"temp", "subscriber", "bs", "count", "mac", "account"} & view.names()
    assert [type(message).__name__ for message in view.messages] == ["TicketedRequest", "Order", "Fetch", "File"]
    device = made.devices[0]
    assert device.temp not in b"".join(m.octets()[:148] for m in view.messages if type(m).__name__ != "File")


def test_the_edge_server_and_the_device() -> None:
    """2.5 c: the one knows no user, the other nothing but its own."""
    made = service()
    ask(made, 1, 3)
    assert not {"temp", "subscriber", "count", "mac"} & made.edges[0].view.names()
    assert {"content", "ticket", "payload_key"} <= made.edges[0].view.names()
    device = made.devices[1]
    assert device.view.names() <= {
        *("subscriber", "bs", "temp", "count", "sealed", "mac", "payload"),
        *("content", "tag", "epoch_key", "payload_key", "octets_sent"),
    }
    assert made.devices[0].view.messages == []


def test_a_device_that_lends_its_key_opens_tags_and_nothing_that_is_sealed() -> None:
    """2.5 d: with tags in the clear one dishonest subscriber tells the base station all contents of all users."""
    for tags_only in (True, False):
        made = Service.start([0, 0, 0], FILES, tags_only=tags_only)
        asked = [(0, 1), (1, 5), (0, 2)]
        for client, content in asked:
            ask(made, client, content)
        lent = made.devices[2].epoch
        assert lent is not None
        table = TagTable.of(lent, 6).content
        sealed = [m.sealed for m in made.stations[0].view.messages if type(m).__name__ == "UplinkRequest"]
        found = [table.get(text[4:20]) for text in sealed]
        assert found == ([1, 5, 2] if tags_only else [None, None, None])
        assert {len(text) for text in sealed} == {116}
        assert ask(made, 1, 4).steps[3].what == ("tag" if tags_only else "sealed")  # as the chart calls step 4


def test_a_tag_in_the_clear_cannot_be_exchanged() -> None:
    made = Service.start([0], FILES, tags_only=True)
    request = up_to_csp(made)
    other = made.devices[0].tag(5)
    with pytest.raises(Refused) as error:
        made.provider.answer(TicketedRequest(request.ticket, request.sealed[:4] + other + request.sealed[20:]))
    assert error.value.refusal is Refusal.ALTERED_SEALED


def test_a_device_with_a_stale_key_gets_the_new_one_and_asks_once_more() -> None:
    made = service()
    made.provider.new_epoch()
    with pytest.raises(Refused) as error:
        walk(made, 0, 3)
    assert error.value.refusal is Refusal.OTHER_EPOCH
    assert ask(made, 0, 3).octets == SIZE
    assert made.devices[0].epoch is not None
    assert made.devices[0].epoch.epoch == 1


def test_other_refusals_are_not_tried_again() -> None:
    made = service()
    made.operator._subscriber.clear()
    with pytest.raises(Refused, match="unknown temporary name"):
        ask(made, 0, 3)


def test_payloads_are_charged() -> None:
    made = service()
    for _ in range(2):
        ask(made, 0, 3)
    assert made.operator._subscriber[made.devices[0].temp].octets == 2 * 1016
    assert not made.operator._open


@pytest.mark.parametrize("suite", ["x25519", "hybrid"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_suites_and_paddings(suite: str, padding: str) -> None:
    files = MadeFiles((0, 5, 70_000))
    made = Service.start([0], files, suite=suite, padding=padding)  # type: ignore[arg-type]
    sizes = []
    for content in range(3):
        done = ask(made, 0, content)
        assert done.octets == files.sizes[content]
        assert done.steps[1].octets == (144 if suite == "x25519" else 1232)
        octets = {step.number: step.octets for step in done.steps}
        sizes.append(octets["11"])
        assert octets["9d"] == octets["10"]  # a miss tells no other size
    assert len(set(sizes)) == (1 if padding == "largest" else 3)


def test_views_of_a_request() -> None:
    made = small_service()
    ask(made, 2, 1)
    views = made.views(2)
    assert tuple(views) == PARTIES
    assert all(view.party == name for name, view in views.items())
    assert views["BS"] is made.stations[1].view
    made.clear_views()
    assert not any(view.messages for view in views.values())
