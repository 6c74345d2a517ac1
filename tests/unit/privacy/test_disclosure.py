"""Who has seen what of a request: what is promised, what is granted, and what is not."""

import pytest

from fedradio.privacy.disclosure import TITLES, disclosed, facts_of, joined
from fedradio.privacy.protocol import MadeFiles, Service, ask
from fedradio.privacy.trials import small_service

SEALED = {
    "subscriber": ("UE", "ISP"),
    "temp": ("UE", "BS", "ISP"),
    "bs": ("UE", "BS", "ISP", "ES"),
    "content": ("UE", "CSP", "ES"),
    "tag": ("UE", "CSP"),
    "epoch_key": ("UE", "CSP"),
    "payload_key": ("UE", "CSP", "ES"),
    "ticket": ("BS", "ISP", "CSP", "ES"),
    "octets_sent": ("UE", "BS", "ISP", "ES"),
}


def test_who_has_seen_what() -> None:
    assert {each.fact: each.parties for each in disclosed(small_service(), 2, 1)} == SEALED
    assert SEALED.keys() == TITLES.keys()


def test_tags_in_the_clear_are_seen_on_the_way() -> None:
    service = Service.start([0, 1], MadeFiles((10, 20)), tags_only=True)
    seen = {each.fact: each.parties for each in disclosed(service, 1, 1)}
    assert seen == SEALED | {"tag": ("UE", "BS", "ISP", "CSP")}


def test_two_parties_that_put_their_views_together_know_who_asked_for_what() -> None:
    """2.5 d, which is not promised: the ticket joins ISP and CSP, and BS and ES."""
    service = small_service()
    for client, content in ((0, 1), (1, 2), (0, 2)):
        ask(service, client, content)
    views = service.views(0)
    assert sorted(joined(views["ISP"], views["CSP"])) == [(0, 1), (0, 2), (1, 2)]
    temps = [service.devices[client].temp for client in (0, 1, 0)]
    assert sorted(joined(views["BS"], views["ES"])) == sorted(zip(temps, (1, 2, 2), strict=True))
    assert joined(views["BS"], views["ISP"]) == []  # of one operator: nobody there knows contents


def test_a_client_that_has_not_asked() -> None:
    with pytest.raises(ValueError, match="not requested"):
        facts_of(small_service(), 0, 1)
