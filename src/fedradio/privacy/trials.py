"""Attempts on the protocol, tried on a live service: what each party must refuse, and the one thing it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fedradio.privacy.messages import CellOrder, CellRequest, File, Message, Order, Payload, TicketedRequest
from fedradio.privacy.payload import CHUNK, CHUNK_TAG
from fedradio.privacy.protocol import MadeFiles, Service
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret

M = TypeVar("M", bound=Message)

CONTENT = 1
"""The content that is asked for; its file has three chunks."""


@dataclass(frozen=True)
class Trial:
    """An attempt: what is done, by whom, and the refusal it must meet (None: it is not refused, by design)."""

    what: str
    by: str
    expected: Refusal | None
    attempt: Callable[[Service], Any]


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: the party that refused, and why (None: nobody did)."""

    trial: Trial
    party: str | None
    refusal: Refusal | None

    @property
    def as_expected(self) -> bool:
        return self.refusal is self.trial.expected


def flipped(message: M, name: str, bit: int = 0) -> M:
    """The message with one bit of a field flipped."""
    octets = bytearray(getattr(message, name))
    octets[(bit // 8) % len(octets)] ^= 1 << bit % 8
    return replace(message, **{name: bytes(octets)})


def small_service() -> Service:
    """Two cells, three subscribers, three files: of no octets, of three chunks, of one."""
    return Service.start([0, 0, 1], MadeFiles((0, 2 * CHUNK + 100, 500)))


def up_to_isp(service: Service, client: int = 0, content: int = CONTENT) -> CellRequest:
    """Steps 1 to 3."""
    device = service.devices[client]
    return service.stations[service.cell[client]].forward(device.ask(device.tag(content)))


def up_to_csp(service: Service, client: int = 0, content: int = CONTENT) -> TicketedRequest:
    """Steps 1 to 4."""
    return service.operator.admit(up_to_isp(service, client, content))


def up_to_bs(service: Service, client: int = 0, content: int = CONTENT) -> tuple[int, CellOrder]:
    """Steps 1 to 7."""
    return service.operator.route(service.provider.answer(up_to_csp(service, client, content)))


def up_to_es(service: Service, client: int = 0, content: int = CONTENT) -> Order:
    """Steps 1 to 8."""
    cell, order = up_to_bs(service, client, content)
    return service.stations[cell].pass_order(order)


def up_to_ue(service: Service, client: int = 0, content: int = CONTENT) -> Payload:
    """Steps 1 to 11, a miss included."""
    cell = service.cell[client]
    edge = service.edges[cell]
    job = edge.read(up_to_es(service, client, content))
    if not edge.has(job.content):
        edge.keep(fetched(service, cell, job.content))
    return service.stations[cell].deliver(edge.send(job))[1]


def fetched(service: Service, cell: int, content: int) -> File:
    """The way of a miss, up to the edge server."""
    isp = service.operator
    asked = isp.admit_fetch(service.stations[cell].forward_fetch(service.edges[cell].fetch(content)))
    back, file = isp.route_file(service.provider.serve_fetch(asked))
    return service.stations[back].pass_file(file)


def _twice(service: Service) -> None:
    request = up_to_isp(service)
    service.operator.admit(request)
    service.operator.admit(request)


def _nonce_twice(service: Service) -> None:
    request = up_to_csp(service)
    service.provider.answer(request)
    service.provider.answer(replace(request, ticket=bytes(16)))


def _old_epoch(service: Service) -> None:
    request = up_to_csp(service)
    service.provider.new_epoch()
    service.provider.answer(request)


def _invented_tag(service: Service) -> None:
    device = service.devices[0]
    cell = service.stations[0].forward(device.ask(bytes(16)))
    service.provider.answer(service.operator.admit(cell))


def _other_ticket(service: Service) -> None:
    first, second = up_to_es(service), up_to_es(service, client=1)
    service.edges[0].read(replace(first, ticket=second.ticket))


def _order_twice(service: Service) -> None:
    order = up_to_es(service)
    service.edges[0].read(order)
    service.edges[0].read(order)


def _payload(change: Callable[[bytes], bytes]) -> Callable[[Service], None]:
    """Answers with a changed payload."""

    def attempt(service: Service) -> None:
        answer = up_to_ue(service)
        service.devices[0].open(replace(answer, payload=change(answer.payload)))

    return attempt


def _swapped(payload: bytes) -> bytes:
    whole = CHUNK + CHUNK_TAG
    return payload[whole : 2 * whole] + payload[:whole] + payload[2 * whole :]


def _altered(payload: bytes) -> bytes:
    return payload[:-1] + bytes([payload[-1] ^ 1])


def _second_answer(service: Service) -> None:
    answer = up_to_ue(service)
    service.devices[0].open(answer)
    service.devices[0].open(answer)


def _charged_twice(service: Service) -> None:
    edge = service.edges[0]
    job = edge.read(up_to_es(service))
    edge.keep(fetched(service, 0, job.content))
    *_, usage = service.stations[0].deliver(edge.send(job))
    service.operator.charge(usage)
    service.operator.charge(usage)


def _fetch_altered(service: Service) -> None:
    service.provider.serve_fetch(flipped(service.edges[0].fetch(CONTENT), "fetch"))


def _fetch_twice(service: Service) -> None:
    fetch = service.edges[0].fetch(CONTENT)
    service.provider.serve_fetch(fetch)
    service.provider.serve_fetch(fetch)


def _file_cut(service: Service) -> None:
    file = fetched(service, 0, CONTENT)
    service.edges[0].keep(replace(file, file=file.file[: CHUNK + CHUNK_TAG]))


def _other_account(service: Service) -> None:
    service.provider.new_epoch()
    service.devices[0].take_key(service.provider.notice(1))


def _old_key(service: Service) -> None:
    notice = service.provider.notice(0)
    service.new_epoch()
    service.devices[0].take_key(notice)


def _other_cell(service: Service) -> None:
    """The ISP sends an order to another cell: its edge server answers, and the payload opens."""
    _, order = up_to_bs(service)
    other, edge = service.stations[1], service.edges[1]
    job = edge.read(other.pass_order(order))
    edge.keep(fetched(service, 1, job.content))
    service.devices[0].open(other.deliver(edge.send(job))[1])


def _stranger(service: Service) -> None:
    service.operator.admit(replace(up_to_isp(service), temp=service.provider.draw(4)))


def _wrong_sim(service: Service) -> None:
    service.devices[0].sim = Secret.new()
    service.operator.admit(up_to_isp(service))


R = Refusal
TRIALS = (
    Trial("request under an unknown name", "BS", R.UNKNOWN_TEMP, _stranger),
    Trial("request of a device with another SIM key", "UE", R.WRONG_MAC, _wrong_sim),
    Trial(
        "one bit of the request flipped",
        "BS",
        R.WRONG_MAC,
        lambda s: s.operator.admit(flipped(up_to_isp(s), "sealed", 300)),
    ),
    Trial("request sent again", "BS", R.OLD_COUNT, _twice),
    Trial(
        "one bit of the sealed text flipped",
        "ISP",
        R.ALTERED_SEALED,
        lambda s: s.provider.answer(flipped(up_to_csp(s), "sealed", 500)),
    ),
    Trial(
        "sealed text cut to 20 octets",
        "ISP",
        R.ALTERED_SEALED,
        lambda s: s.provider.answer(TicketedRequest(bytes(16), up_to_csp(s).sealed[:20])),
    ),
    Trial("sealed text under a second ticket", "ISP", R.SEEN_NONCE, _nonce_twice),
    Trial("request held back until the next epoch", "ISP", R.OTHER_EPOCH, _old_epoch),
    Trial("invented tag", "UE", R.UNKNOWN_TAG, _invented_tag),
    Trial(
        "order under an unknown ticket",
        "CSP",
        R.UNKNOWN_TICKET,
        lambda s: s.operator.route(Order(bytes(16), bytes(80))),
    ),
    Trial("order under another request's ticket", "BS", R.ALTERED_ORDER, _other_ticket),
    Trial(
        "one bit of the order flipped",
        "BS",
        R.ALTERED_ORDER,
        lambda s: s.edges[0].read(flipped(up_to_es(s), "order", 200)),
    ),
    Trial("order sent again to the same edge server", "BS", R.SEEN_ORDER, _order_twice),
    Trial("fetch altered", "BS", R.ALTERED_FETCH, _fetch_altered),
    Trial("fetch sent again", "BS", R.SEEN_FETCH, _fetch_twice),
    Trial("file of a miss cut to its first chunk", "ISP", R.ALTERED_PAYLOAD, _file_cut),
    Trial("two chunks of the payload swapped", "BS", R.ALTERED_PAYLOAD, _payload(_swapped)),
    Trial("last chunk dropped", "BS", R.ALTERED_PAYLOAD, _payload(lambda p: p[: 2 * (CHUNK + CHUNK_TAG)])),
    Trial("one bit of the payload flipped", "BS", R.ALTERED_PAYLOAD, _payload(_altered)),
    Trial("payload without any chunk", "BS", R.EMPTY_PAYLOAD, _payload(lambda _: b"")),
    Trial("second answer to one request", "BS", R.NOTHING_ASKED, _second_answer),
    Trial("payload charged twice", "BS", R.UNKNOWN_TICKET, _charged_twice),
    Trial("key of an epoch for another account", "ISP", R.ALTERED_KEY, _other_account),
    Trial("key of an earlier epoch", "ISP", R.OLD_KEY, _old_key),
    Trial("order routed to another cell", "ISP", None, _other_cell),
)


def try_all() -> list[Outcome]:
    """Every trial on a small service of its own."""
    return [try_one(trial) for trial in TRIALS]


def try_one(trial: Trial) -> Outcome:
    """One trial on a small service."""
    try:
        trial.attempt(small_service())
    except Refused as error:
        return Outcome(trial, error.party, error.refusal)
    return Outcome(trial, None, None)
