"""The example of private requests: its messages are those of the package's table, and attacks are refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from types import ModuleType
from typing import Any

import pytest
from support.knowledge import who_knows
from support.scripts import script

from fedradio.papers.protocol import Ciphertext, Step, request_steps

SIZES = (0, 1000, 65_537)
VARIANTS = [{"hybrid": hybrid, "tags_in_clear": clear} for hybrid, clear in product((False, True), repeat=2)]


@pytest.fixture(scope="module")
def run() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        yield script("examples/private_requests/run.py", patch)


def start(run: ModuleType, **options: bool) -> Any:
    """Three subscribers in two cells, and a file of every size."""
    return run.Service.start([0, 0, 1], [bytes([n]) * size for n, size in enumerate(SIZES)], **options)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_octets_and_knowledge_are_those_of_the_table(run: ModuleType, options: dict[str, bool]) -> None:
    """A miss and then a hit of another client of the cell, for files of several sizes."""
    for content, size in enumerate(SIZES):
        service = start(run, **options)
        for client in (0, 1):
            service.clear_transcripts()
            exchange = run.ask(service, client, content)
            assert exchange.hit == (client == 1)
            steps = request_steps(**options, miss=not exchange.hit)
            octets = {step.number: step.octets(size) for step in steps if step.receiver is not None}
            assert {message.number: message.octets for message in exchange.messages} == octets
            assert exchange.file == service.provider.files[content]
            assert run.who_has_seen(service, client) == who_knows(steps)
            assert service.operator.charged[client] == octets["11"]
    notice = service.provider.notice(service.devices[0].account_key)
    assert notice.octets == 4 + 12 + 32 + 16  # epoch, and the nonce, the key and the tag of its encryption


def test_fields_are_those_of_the_table(run: ModuleType) -> None:
    exchange = run.ask(start(run), 0, 1)
    lengths = {m.number: {name: len(value) for name, value in m.fields.items()} for m in exchange.messages}
    assert lengths == {
        step.number: {
            field.name if isinstance(field, Ciphertext) else field: Step("", "", "UE", None, (field,)).octets(SIZES[1])
            for field in step.fields
        }
        for step in request_steps()
        if step.receiver is not None
    }


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_attacks_are_refused_by_the_party_and_for_the_reason_that_they_name(
    run: ModuleType, options: dict[str, bool]
) -> None:
    met = {attack.about: run.attempt(attack, **options) for attack in run.ATTACKS}
    refusals = {about: refused and (refused.party, refused.reason) for about, refused in met.items()}
    assert refusals == {attack.about: (attack.party, attack.reason) for attack in run.ATTACKS}
    assert len(refusals) >= 20


def refusal(run: ModuleType, call: Any, *values: Any) -> tuple[str, str]:
    with pytest.raises(run.Refused) as met:
        call(*values)
    return met.value.party, met.value.reason.name


def test_keys_of_epochs(run: ModuleType) -> None:
    service = start(run)
    first, second = service.devices[:2]
    old = service.provider.notice(first.account_key)
    assert refusal(run, first.take_key, old) == ("UE", "OLD_KEY")
    service.provider.new_epoch(1)
    assert refusal(run, first.take_key, service.provider.notice(second.account_key)) == ("UE", "ALTERED_KEY")
    assert refusal(run, run.ask, service, 0, 1) == ("CSP", "OTHER_EPOCH")
    service.new_epoch()
    assert run.ask(service, 0, 1).file == service.provider.files[1]


def test_an_invented_tag_and_a_second_answer(run: ModuleType) -> None:
    service = start(run)
    assert refusal(run, run.ask, service, 0, len(SIZES)) == ("CSP", "UNKNOWN_TAG")
    answer = next(message for message in run.ask(service, 0, 1).messages if message.number == "11")
    assert refusal(run, service.devices[0].open, answer) == ("UE", "NO_OPEN_REQUEST")


def test_an_order_that_is_routed_to_another_cell_is_not_refused(run: ModuleType) -> None:
    """The provider does not know the cell, so nothing ties an order to it."""
    service = start(run)
    run.ask(service, 2, 1)  # the edge server of cell 1 has the file
    device, isp, station, edge = service.devices[0], service.operator, service.stations[1], service.edges[1]
    request = isp.admit(service.stations[0].forward_request(device.request(1)))
    cell, order = isp.route(service.provider.order(request))
    assert cell == 0
    answer = edge.send(edge.read(station.forward_order(order)))
    assert device.open(station.deliver(answer)) == service.provider.files[1]


def pieces(octets: bytes) -> set[bytes]:
    return {octets[at : at + 8] for at in range(len(octets) - 7)}


def test_the_operator_cannot_link_requests_for_one_content(run: ModuleType) -> None:
    """No two requests, orders or payloads share 8 octets, within an epoch or across epochs, and no tag is visible."""
    service, texts, tags = start(run), [], []
    for epoch in range(2):
        if epoch:
            service.new_epoch()
        tags += service.provider._content
        for client in (0, 1, 2, 0):
            messages = {message.number: message for message in run.ask(service, client, 1).messages}
            texts += [messages["4"]["request"], messages["6"]["order"], messages["11"]["payload"]]
    assert not any(pieces(first) & pieces(second) for first, second in combinations(texts, 2))
    operator = [service.operator.transcript, *(station.transcript for station in service.stations)]
    octets = b"".join(b"".join(m.fields.values()) for transcript in operator for m in transcript.messages)
    assert len(tags) == 2 * len(SIZES)
    assert not any(tag in octets for tag in tags)


def test_messages_have_the_same_form_whatever_is_requested(run: ModuleType) -> None:
    """Two contents of one size: fields, lengths and clear values are equal."""
    forms = []
    for content in (0, 1):
        service = run.Service.start([0], [bytes(500), bytes([1]) * 500])
        messages = run.ask(service, 0, content).messages
        clear = [(m.fields.get("count"), m.fields.get("cell"), m.fields.get("payload_size")) for m in messages]
        forms.append((clear, [{name: len(value) for name, value in m.fields.items()} for m in messages]))
    assert forms[0] == forms[1]


def test_the_program(run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["run.py", "--tags-in-clear"])
    run.main()
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["2", "UE", "->", "BS", "request", "144"] in shown
    assert ["tag", "of", "the", "content", "yes", "yes", "yes", "yes", "-"] in shown
    attacks = str(len(run.ATTACKS))
    assert shown[-1] == [attacks, "of", attacks, "attacks", "refused"]
