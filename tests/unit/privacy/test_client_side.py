"""The device: requests with fresh keys, one answer each, keys of epochs in order."""

import pytest

from fedradio.privacy.client_side import Opened
from fedradio.privacy.messages import Payload
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret
from fedradio.privacy.trials import small_service, up_to_ue


def test_requests_are_fresh_and_counted() -> None:
    device = small_service().devices[0]
    first, second = (device.ask(device.tag(1)) for _ in range(2))
    assert [int.from_bytes(each.count, "big") for each in (first, second)] == [0, 1]
    assert first.temp == second.temp
    assert first.sealed != second.sealed
    assert first.size() == 144


def test_the_first_answer_that_opens_is_taken() -> None:
    service = small_service()
    answer, device = up_to_ue(service), service.devices[0]
    with pytest.raises(Refused):
        device.open(Payload(answer.payload[:-1]))
    assert device.open(answer) == service.provider.files.read(1)
    with pytest.raises(Refused) as error:
        device.open(answer)
    assert error.value.refusal is Refusal.NOTHING_ASKED


def test_without_a_key_nothing_is_asked() -> None:
    device = small_service().devices[0]
    device.epoch = None
    for attempt in (lambda: device.tag(1), lambda: device.ask(bytes(16))):
        with pytest.raises(Refused) as error:
            attempt()
        assert error.value.refusal is Refusal.OTHER_EPOCH


def test_a_request_as_the_provider_reads_it() -> None:
    opened = Opened.of(b"\x00\x00\x00\x07" + b"t" * 16 + b"n" * 16 + b"k" * 32)
    assert (opened.epoch, opened.tag, opened.nonce) == (7, b"t" * 16, b"n" * 16)
    assert opened.key == Secret(b"k" * 32)
    assert repr(opened) == "Opened(...)"
    with pytest.raises(ValueError, match="not a request"):
        Opened.of(bytes(67))
