"""A service of all parties, and one request through it: the twelve steps of RawHFL's Fig. 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parties import AnyParty, BaseStation, Device, EdgeServer, Message, Operator, Provider, Transcript

from fedradio.papers.protocol import PARTIES, Party

Wire = Callable[[Message], Message]
"""What happens to a message between sender and receiver; an attacker changes or replaces it."""


def unchanged(message: Message) -> Message:
    return message


@dataclass(repr=False)
class Service:
    """A provider with an edge server in every cell of an operator, and subscribers in these cells."""

    provider: Provider
    operator: Operator
    stations: list[BaseStation]
    edges: list[EdgeServer]
    devices: list[Device]

    @classmethod
    def start(
        cls, cells: Sequence[int], files: Sequence[bytes], *, hybrid: bool = False, tags_in_clear: bool = False
    ) -> Service:
        """All parties with fresh keys: one subscriber for each of ``cells``, all with the key of epoch 0."""
        provider, operator = Provider(tuple(files), hybrid, tags_in_clear), Operator()
        public = provider.private_key.public_key()
        devices = [Device(who, cell, public, tags_in_clear) for who, cell in enumerate(cells)]
        for device in devices:
            operator.enrol(device)
            device.take_key(provider.notice(device.account_key))
        every = range(max(cells) + 1)
        edges = [EdgeServer(cell, provider.group_key) for cell in every]
        return cls(provider, operator, [BaseStation(cell) for cell in every], edges, devices)

    def new_epoch(self) -> None:
        """A new key of the tags for all subscribers at once, so that fetching it tells nothing about requests."""
        self.provider.new_epoch(self.provider.epoch_key.epoch + 1)
        for device in self.devices:
            device.take_key(self.provider.notice(device.account_key))

    def transcripts(self, client: int) -> dict[Party, Transcript]:
        """The transcripts of the five parties of a client's requests."""
        device = self.devices[client]
        station, edge = self.stations[device.cell], self.edges[device.cell]
        parties: tuple[AnyParty, ...] = (device, station, self.operator, self.provider, edge)
        return {name: party.transcript for name, party in zip(PARTIES, parties, strict=True)}

    def clear_transcripts(self) -> None:
        parties: tuple[AnyParty, ...] = (self.operator, self.provider, *self.stations, *self.edges, *self.devices)
        for party in parties:
            party.transcript = Transcript()


@dataclass(frozen=True)
class Exchange:
    """A finished request: the file, the messages in their order, and whether the edge server had the file."""

    file: bytes
    messages: list[Message]
    hit: bool


def ask(service: Service, client: int, content: int, wire: Wire = unchanged) -> Exchange:
    """One request from the tag to the opened payload; raises ``Refused`` if a party refuses a message."""
    device, isp, csp = service.devices[client], service.operator, service.provider
    station, messages = service.stations[device.cell], []

    def carry(message: Message, sender: Transcript, receiver: Transcript) -> Message:
        sender.messages.append(message)
        arrived = wire(message)
        receiver.messages.append(arrived)
        messages.append(arrived)
        return arrived

    ue, bs, cloud, provider = device.transcript, station.transcript, isp.transcript, csp.transcript
    request = carry(device.request(content), ue, bs)
    request = carry(station.forward_request(request), bs, cloud)
    request = carry(isp.admit(request), cloud, provider)
    order = carry(csp.order(request), provider, cloud)
    cell, order = isp.route(order)
    station, edge = service.stations[cell], service.edges[cell]
    bs, es = station.transcript, edge.transcript
    order = carry(order, cloud, bs)
    wanted = edge.read(carry(station.forward_order(order), bs, es))
    if not (hit := wanted.content in edge.files):
        fetch = carry(edge.fetch(wanted.content), es, bs)
        fetch = carry(station.forward_fetch(fetch), bs, cloud)
        fetch = carry(isp.admit_fetch(fetch), cloud, provider)
        file = carry(csp.serve(fetch), provider, cloud)
        _, file = isp.route_file(file)
        file = carry(file, cloud, bs)
        edge.store(carry(station.forward_file(file), bs, es))
    answer = carry(edge.send(wanted), es, bs)
    data = device.open(carry(station.deliver(answer), bs, ue))
    isp.charge(carry(station.report(answer), bs, cloud))
    return Exchange(data, messages, hit)


def who_has_seen(service: Service, client: int) -> dict[str, tuple[Party, ...]]:
    """For every fact about the client's only request, the parties whose transcripts contain its value."""
    device, transcripts = service.devices[client], service.transcripts(client)
    truth = dict(transcripts["UE"].facts)
    truth["temporary_name"] = device.temporary_name
    truth["ticket"] = transcripts["BS"].messages[-1]["ticket"]
    return {
        fact: tuple(party for party in PARTIES if transcripts[party].contains(fact, value))
        for fact, value in truth.items()
    }
