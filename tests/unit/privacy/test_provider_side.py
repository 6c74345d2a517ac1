"""Provider and edge servers: orders, misses, the files that are kept."""

import pytest

from fedradio.privacy.messages import File, Order
from fedradio.privacy.protocol import MadeFiles, Service, ask
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.trials import fetched, small_service, up_to_csp, up_to_es


def test_an_order_has_96_octets_and_says_what_to_send() -> None:
    service = small_service()
    order = service.provider.answer(up_to_csp(service, content=2))
    assert order.size() == 96
    job = service.edges[1].read(order)  # any edge server of the group
    assert (job.content, len(job.nonce), len(job.key)) == (2, 16, 32)
    assert repr(job) == "Job(...)"


def test_a_new_epoch_drops_table_and_nonces() -> None:
    service = small_service()
    before = service.devices[0].tag(1)
    service.provider.answer(up_to_csp(service))
    service.new_epoch()
    assert service.devices[0].tag(1) != before
    assert not service.provider._nonces
    assert service.provider.answer(up_to_csp(service)).size() == 96


def test_an_order_and_a_fetch_are_never_taken_for_each_other() -> None:
    service = small_service()
    fetch = service.edges[0].fetch(1)
    with pytest.raises(Refused) as error:
        service.edges[0].read(Order(fetch.name, fetch.fetch + bytes(16)))
    assert error.value.refusal is Refusal.ALTERED_ORDER


def test_an_edge_server_keeps_the_files_it_used_last() -> None:
    service = Service.start([0], MadeFiles((10, 20, 30)), capacity=2)
    hits = [ask(service, 0, content).hit for content in (0, 1, 0, 2, 0, 1)]
    assert hits == [False, False, True, False, True, False]


def test_contents_beyond_the_catalogue_and_files_that_nobody_asked_for() -> None:
    service = small_service()
    edge = service.edges[0]
    with pytest.raises(Refused) as error:
        service.provider.serve_fetch(edge.fetch(3))
    assert error.value.refusal is Refusal.UNKNOWN_CONTENT
    file = fetched(service, 0, 1)
    edge.keep(file)
    for wrong in (file, File(bytes(16), b"anything")):
        with pytest.raises(Refused) as error:
            edge.keep(wrong)
        assert error.value.refusal is Refusal.NOTHING_ASKED


def test_orders_are_read_once() -> None:
    service = small_service()
    order = up_to_es(service)
    service.edges[0].read(order)
    service.edges[1].read(order)  # another cell: nothing ties an order to one, by design
    with pytest.raises(Refused) as error:
        service.edges[0].read(order)
    assert error.value.refusal is Refusal.SEEN_ORDER
