"""The five parties of a service, and the twelve steps of a request from the tag to the opened payload.

1 UE: content to tag          5 CSP: tag to content       9 ES: opens the order (fetches the file on a miss)
2 UE -> BS -> ISP -> CSP      6 CSP -> ISP -> BS -> ES    10 ES -> BS -> UE, 12 UE: opens the payload
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from fedradio.privacy.client_side import Device, Sealing
from fedradio.privacy.messages import OCTETS
from fedradio.privacy.network_side import BaseStation, Operator
from fedradio.privacy.padding import Padding
from fedradio.privacy.provider_side import EdgeServer, Files, Job, Provider
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.sealing import suite_of
from fedradio.privacy.secret import SYSTEM, Draw, Secret
from fedradio.privacy.steps import PARTIES, Walk, Walker
from fedradio.privacy.views import View


@dataclass(frozen=True)
class MadeFiles:
    """Files of given sizes, made of the numbers of their contents (SHAKE-128): the same in every run."""

    sizes: tuple[int, ...]

    @property
    def contents(self) -> int:
        return len(self.sizes)

    def read(self, content: int) -> bytes:
        return _made(content, self.sizes[content])

    def largest(self) -> int:
        return max(self.sizes)


@dataclass(repr=False)
class Service:
    """A provider with an edge server in every cell of a network, and subscribers in these cells (``cell [C]``)."""

    cell: tuple[int, ...]
    provider: Provider
    operator: Operator
    stations: list[BaseStation]
    edges: list[EdgeServer]
    devices: list[Device]

    @classmethod
    def start(
        cls,
        cell: Sequence[int],
        files: Files,
        *,
        suite: str = "x25519",
        tags_only: bool = False,
        padding: Padding = "none",
        capacity: int = 8,
        draw: Draw = SYSTEM,
    ) -> Service:
        """All parties with fresh keys; every subscriber has the key of the first epoch."""
        provider = Provider(suite_of(suite), files, draw, tags_only, padding)
        sealing = Sealing(provider.suite, provider.public, tags_only)
        operator = Operator(draw)
        cells = range(max(cell) + 1)
        edges = [EdgeServer(b, provider.group, capacity, padding, files.largest(), draw) for b in cells]
        devices: list[Device] = []
        for subscriber, temp in enumerate(_temporary_names(len(cell), draw)):
            device = Device(
                subscriber, cell[subscriber], temp, Secret.new(draw), Secret.new(draw), sealing, padding, draw
            )
            operator.enrol(subscriber, device.temp, device.sim)
            provider.open_account(subscriber, device.account)
            device.take_key(provider.notice(subscriber))
            devices.append(device)
        service = cls(tuple(cell), provider, operator, [BaseStation(b) for b in cells], edges, devices)
        service.clear_views()
        return service

    def new_epoch(self) -> None:
        """A new epoch whose key every subscriber gets at once."""
        self.provider.new_epoch()
        for device in self.devices:
            device.take_key(self.provider.notice(device.subscriber))

    def views(self, client: int) -> dict[str, View]:
        """The views of the five parties of a client's request."""
        cell = self.cell[client]
        network = (self.stations[cell].view, self.operator.view)
        views = (self.devices[client].view, *network, self.provider.view, self.edges[cell].view)
        return dict(zip(PARTIES, views, strict=True))

    def clear_views(self) -> None:
        """Every party forgets what it has seen."""
        several = [party.view for group in (self.devices, self.stations, self.edges) for party in group]
        for view in (*several, self.operator.view, self.provider.view):
            view.clear()

    def __repr__(self) -> str:
        return f"Service({len(self.devices)} subscribers, {len(self.stations)} cells)"


def ask(service: Service, client: int, content: int) -> Walk:
    """One request; a device that is refused for its epoch gets the new key and asks once more."""
    try:
        return walk(service, client, content)
    except Refused as error:
        if error.refusal is not Refusal.OTHER_EPOCH:
            raise
        service.devices[client].take_key(service.provider.notice(client))
        return walk(service, client, content)


def walk(service: Service, client: int, content: int) -> Walk:
    """The twelve steps of one request, with the way of a miss between steps 9 and 10."""
    device, isp, csp = service.devices[client], service.operator, service.provider
    station = service.stations[service.cell[client]]
    walker = Walker()
    tag = walker.local("1", "UE", "content to tag", lambda: device.tag(content))
    request = walker.send("2", "UE", "BS", "request", lambda: device.ask(tag))
    in_cell = walker.send("3", "BS", "ISP", "+ cell", lambda: station.forward(request))
    kind = "tag" if csp.tags_only else "sealed"
    ticketed = walker.send("4", "ISP", "CSP", kind, lambda: isp.admit(in_cell))
    order = walker.local("5", "CSP", "tag to content", lambda: csp.answer(ticketed))
    order = walker.send("6", "CSP", "ISP", "order", lambda: order)
    cell, routed = walker.send("7", "ISP", "BS", "+ temp", lambda: isp.route(order))
    edge, serving = service.edges[cell], service.stations[cell]
    at_edge = walker.send("8", "BS", "ES", "order", lambda: serving.pass_order(routed))
    job = walker.local("9", "ES", "opens the order", lambda: edge.read(at_edge))
    if not (hit := edge.has(job.content)):
        _miss(service, cell, job, walker)
    answer = walker.send("10", "ES", "BS", "ticket, payload", lambda: edge.send(job))
    _, payload, usage = walker.send("11", "BS", "UE", "payload", lambda: serving.deliver(answer))
    data = walker.local("12", "UE", "opens the payload", lambda: device.open(payload))
    walker.send("$", "BS", "ISP", "octets", lambda: usage)
    isp.charge(usage)
    return Walk(tuple(walker.steps), hit, len(data))


def _miss(service: Service, cell: int, job: Job, walker: Walker) -> None:
    """The edge server fetches the file from the provider, through base station and ISP."""
    station, edge = service.stations[cell], service.edges[cell]
    isp, csp = service.operator, service.provider
    fetch = walker.send("9a", "ES", "BS", "fetch", lambda: edge.fetch(job.content))
    in_cell = walker.send("9b", "BS", "ISP", "+ cell", lambda: station.forward_fetch(fetch))
    asked = walker.send("9c", "ISP", "CSP", "fetch", lambda: isp.admit_fetch(in_cell))
    file = walker.send("9d", "CSP", "ISP", "file", lambda: csp.serve_fetch(asked))
    back, routed = walker.send("9e", "ISP", "BS", "file", lambda: isp.route_file(file))
    passed = walker.send("9f", "BS", "ES", "file", lambda: service.stations[back].pass_file(routed))
    walker.local("9g", "ES", "keeps the file", lambda: edge.keep(passed))


@functools.lru_cache(maxsize=1)
def _made(content: int, size: int) -> bytes:
    return hashlib.shake_128(content.to_bytes(4, "big")).digest(size)


def _temporary_names(count: int, draw: Draw) -> list[bytes]:
    """Random temporary names, all different."""
    names: dict[bytes, None] = {}
    while len(names) < count:
        names[draw(OCTETS["temp"])] = None
    return list(names)
