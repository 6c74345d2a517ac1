"""Base station and ISP: the code of the SIM key by hand, tickets, charging, and what the CSP is sent."""

from collections.abc import Callable
from dataclasses import fields, replace
from hashlib import sha256

import pytest

from fedradio.privacy.messages import CellRequest, Order, TicketedPayload, Usage
from fedradio.privacy.network_side import BaseStation, Operator, sim_code
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret


def counted() -> Callable[[int], bytes]:
    """A generator that counts: tickets are equal wherever it starts anew."""
    number = iter(range(1, 1000))
    return lambda octets: next(number).to_bytes(octets, "big")


def request(sim: Secret, bs: int = 0, count: int = 0, temp: bytes = b"temp") -> CellRequest:
    number, sealed = count.to_bytes(8, "big"), b"s" * 116
    return CellRequest(bs.to_bytes(4, "big"), temp, number, sealed, sim_code(sim, number, sealed))


def operator(sim: Secret) -> Operator:
    isp = Operator(counted())
    isp.enrol(42, b"temp", sim)
    return isp


def test_the_code_of_a_sim_by_hand() -> None:
    inner = sha256(b"\x36" * 64 + bytes(8) + b"s" * 116).digest()
    assert sim_code(Secret(bytes(32)), bytes(8), b"s" * 116) == sha256(b"\x5c" * 64 + inner).digest()[:16]


def test_the_same_request_through_two_cells_is_the_same_to_the_provider() -> None:
    """2.5 b: two ISPs in equal state, the same step 2 forwarded by two base stations, byte-identical step 4."""
    sim = Secret.new()
    first, second = (operator(sim).admit(request(sim, bs)) for bs in (0, 3))
    assert first == second
    assert {each.name for each in fields(first)} == {"ticket", "sealed"}


def test_refusals_of_the_isp() -> None:
    sim = Secret.new()
    isp, asked = operator(sim), request(sim, count=5)
    isp.admit(asked)
    flipped = bytes([asked.sealed[0] ^ 1]) + asked.sealed[1:]
    for wrong, refusal in (
        (replace(asked, temp=b"nobo"), Refusal.UNKNOWN_TEMP),
        (replace(asked, sealed=flipped), Refusal.WRONG_MAC),
        (replace(asked, count=bytes(7) + b"\x09"), Refusal.WRONG_MAC),
        (asked, Refusal.OLD_COUNT),
        (request(sim, count=4), Refusal.OLD_COUNT),
        (request(Secret.new(), count=9), Refusal.WRONG_MAC),
    ):
        with pytest.raises(Refused) as error:
            isp.admit(wrong)
        assert (error.value.party, error.value.refusal) == ("ISP", refusal)
    isp.admit(request(sim, count=6))


def test_tickets_lead_back_are_charged_and_die() -> None:
    sim, station = Secret.new(), BaseStation(3)
    isp = operator(sim)
    ticket = isp.admit(request(sim, bs=3)).ticket
    cell, order = isp.route(Order(ticket, b"o" * 80))
    assert (cell, order.temp) == (3, b"temp")
    assert station.pass_order(order) == Order(ticket, b"o" * 80)
    temp, payload, usage = station.deliver(TicketedPayload(ticket, b"p" * 1000))
    assert (temp, payload.payload, usage) == (b"temp", b"p" * 1000, Usage(ticket, (1000).to_bytes(8, "big")))
    assert isp.charge(usage) == 1000
    for again in (lambda: isp.charge(usage), lambda: isp.route(Order(ticket, b"o" * 80))):
        with pytest.raises(Refused) as error:
            again()
        assert error.value.refusal is Refusal.UNKNOWN_TICKET
    with pytest.raises(Refused) as error:
        station.deliver(TicketedPayload(ticket, b"p"))
    assert (error.value.party, error.value.refusal) == ("BS", Refusal.UNKNOWN_TICKET)
