"""Who has seen what of a request, read off the parties' own views."""

from __future__ import annotations

from fedradio.privacy.protocol import Service, ask
from fedradio.privacy.steps import PARTIES, Seen
from fedradio.privacy.views import Fact, View

TITLES = {
    "subscriber": "subscriber",
    "temp": "temporary name",
    "bs": "cell",
    "content": "content",
    "tag": "tag of the content",
    "epoch_key": "key of the epoch",
    "payload_key": "key of the payload",
    "ticket": "ticket",
    "octets_sent": "size of the payload",
}
"""Facts about a request that are looked for in the views, and what people call them."""


def facts_of(service: Service, client: int, content: int) -> dict[str, Fact]:
    """The truth about a client's last request."""
    device, views = service.devices[client], service.views(client)
    key, ticket, octets = (
        views[p].last(n) for p, n in (("UE", "payload_key"), ("CSP", "ticket"), ("UE", "octets_sent"))
    )
    if device.epoch is None or key is None or ticket is None or octets is None:
        raise ValueError("this client has not requested anything")
    return {
        "subscriber": device.subscriber,
        "temp": device.temp,
        "bs": service.cell[client],
        "content": content,
        "tag": device.epoch.tag(content),
        "epoch_key": device.epoch.key,
        "payload_key": key,
        "ticket": ticket,
        "octets_sent": octets,
    }


def seen_by(views: dict[str, View], truth: dict[str, Fact]) -> list[Seen]:
    """For every fact the parties whose view holds its value."""
    return [
        Seen(fact, tuple(party for party in PARTIES if views[party].holds(fact, value)))
        for fact, value in truth.items()
    ]


def disclosed(service: Service, client: int, content: int) -> list[Seen]:
    """Make one request of a service that has forgotten all others, and tell who has seen what of it."""
    service.clear_views()
    ask(service, client, content)
    return seen_by(service.views(client), facts_of(service, client, content))


def joined(first: View, second: View) -> list[tuple[Fact, Fact]]:
    """Who asked for what, from two parties that put their views together: by the tickets that both have seen.

    ISP with CSP, or BS with ES: what one knows of the user and the other of the content meets in the ticket. The
    protocol does not promise anything against that.
    """
    users, contents = first.by_ticket("subscriber", "temp"), second.by_ticket("content")
    return [(users[ticket], contents[ticket]) for ticket in users if ticket in contents]
