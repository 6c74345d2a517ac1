"""The world of a federation as each side builds it: a device its own part, the server what the devices announce.

A spec's world is drawn from its seed, so that every device can draw its own share: good for rehearsals, on one machine
or on several. With ``data.source: own`` the samples are the devices', and the server has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import Batches, Clock, Samples, Slots, Stream, TestSet
from fedradio.core.errors import DataError, Problem, SpecError
from fedradio.core.registry import part
from fedradio.core.rng import Rng
from fedradio.data.streams import Window
from fedradio.data.tapes import Pool, make_tapes
from fedradio.remote.flower.device import Device
from fedradio.rounds.label_drift import start_signals
from fedradio.rounds.planning import data_signals
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

OWN = "own"
"""Kind of the source whose samples are on the devices."""


def is_own(spec: Spec) -> bool:
    """Whether the samples are the devices' own."""
    return bool(spec.plain["data"]["source"]["kind"] == OWN)


def device_of(spec: Spec, number: int, samples: Samples | None) -> Device:
    """Client ``number`` of a spec, on samples of its own where the spec says so; neither radio nor other clients."""
    if is_own(spec) != (samples is not None):
        needed = (
            "needs a folder with samples: use --data"
            if is_own(spec)
            else "already has the samples of every client: leave --data out"
        )
        raise DataError(f"the federation's spec {needed}")
    refuse_files(spec)
    plain = _without_radio(spec)
    if samples is None:
        sim = build(plain, "cpu", 1)
    else:
        shape, classes = own_shape(spec)
        check_samples(samples, shape, classes)
        given = replace(samples, classes=classes)
        sim = build(plain, "cpu", 1, stream=lambda clients: OwnStream(given, number, clients))
    if not 0 <= number < sim.topology.clients:
        raise DataError(
            f"client {number} does not exist: the clients of this federation are numbered 0 to "
            f"{sim.topology.clients - 1}"
        )
    return Device.of(sim, number)


def _without_radio(spec: Spec) -> Spec:
    """The spec as a device needs it: what it learns and how it codes its payload, not how that is carried."""
    hop: dict[str, Any] = {"channel": None, "fleet": None, "deadline_s": None, "receiver": None, "period": 1}
    hop["link"] = {"kind": "ideal", "bits_per_value": 32.0}
    hop["policy"] = {"kind": "fixed", "steps": 1, "epochs": None}
    return Spec(spec.plain | {"hops": [spec.plain["hops"][0] | hop], "clock": "slowest"})


def refuse_files(spec: Spec) -> None:
    """Refuse a spec with parts from files where a device builds them: it reads no file that a server names."""
    plain, data, why = spec.plain, spec.plain["data"], "a device does not read files named by the server"
    built = {name: (name, plain[name]) for name in ("topology", "model", "rule", "schedule", "algorithm")}
    built |= {f"data.{name}": (name, data[name]) for name in ("source", "partition", "stream")}
    built |= {f"hops.0.transforms.{i}": ("transform", each) for i, each in enumerate(plain["hops"][0]["transforms"])}
    problems = [
        Problem(f"{path}.{each.name}", why, "use data.source.kind=own, and join --data DIR")
        for path, (family, given) in built.items()
        if given is not None
        for each in part(family, given["kind"]).parameters()
        if each.arg.file and given.get(each.name) is not None
    ]
    if problems:
        raise SpecError(problems)


def own_shape(spec: Spec) -> tuple[tuple[int, ...], int]:
    """Shape and classes that a spec of devices' own samples says."""
    source = spec.plain["data"]["source"]
    return tuple(source["shape"]), int(source["classes"])


def check_samples(samples: Samples, shape: tuple[int, ...], classes: int) -> None:
    """Refuse samples of a device that do not fit the federation's spec."""
    samples.check()
    if samples.shape != shape:
        raise DataError(f"samples of this device have shape {samples.shape}, but those of the federation {shape}")
    highest = max(int(samples.y.max()), int(samples.test_y.max()) if len(samples.test_y) else 0)
    if highest >= classes:
        raise DataError(f"label {highest} on this device is invalid: the federation's labels are 0 to {classes - 1}")


def announced(device: Device) -> Slots:
    """The signals ``[1, ...]`` of a device's data that its algorithm reveals to the server, and no others."""
    stats = device.stream.stats(device.stream.start())
    rows = {name: values.cpu() for name, values in (stats | start_signals(stats)).items()}
    mine = slice(device.number, device.number + 1) if len(rows["samples"]) > 1 else slice(0, 1)
    return {name: values[mine] for name, values in rows.items() if name in device.algorithm.reveals}


class OwnStream(Stream):
    """Samples of a device's own as the stream of one client of ``clients``; its draws are named by its ``number``."""

    def __init__(self, samples: Samples, number: int, clients: int) -> None:
        shown = samples if len(samples.test_y) else replace(samples, test_x=samples.x[:1], test_y=samples.y[:1])
        self._window = Window(make_tapes(shown, [torch.arange(len(samples.y))], Rng(number).child("own")))
        self._number, self._clients = number, clients

    @property
    def clients(self) -> int:
        return self._clients

    @property
    def shape(self) -> tuple[int, ...]:
        return self._window.shape

    @property
    def classes(self) -> int:
        return self._window.classes

    @property
    def sample_bits(self) -> float:
        return self._window.sample_bits

    def start(self) -> Slots:
        return self._window.start()

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return ""

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        return state

    def stats(self, state: Slots) -> Slots:
        return self._window.stats(state)

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        own = rng.child("own", self._number)
        return self._window.draw(state, torch.zeros_like(clients), updates, batch, own, unlabelled_batch)

    def test(self) -> TestSet:
        return self._window.test()

    def validation(self) -> TestSet | None:
        return None

    def reference(self, state: Slots) -> dict[str, float]:
        return {}


@dataclass(frozen=True)
class Announced(Stream):
    """The devices' data as the server knows it: what their algorithm reveals; test samples of the server's own, or
    blank ones that show their shape. A number that is not revealed is 1."""

    stats_known: Slots
    test_set: TestSet
    number: int
    sample_shape: tuple[int, ...]
    label_classes: int
    value_bits: float

    @property
    def clients(self) -> int:
        return self.number

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sample_shape

    @property
    def classes(self) -> int:
        return self.label_classes

    @property
    def sample_bits(self) -> float:
        return self.value_bits * math.prod(self.sample_shape)

    def start(self) -> Slots:
        return {}

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return ""

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        return state

    def stats(self, state: Slots) -> Slots:
        return self.stats_known

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        raise RuntimeError("the samples are on the devices")

    def test(self) -> TestSet:
        return self.test_set

    def validation(self) -> TestSet | None:
        return None

    def reference(self, state: Slots) -> dict[str, float]:
        return {}


def announced_stream(spec: Spec, clients: int, signals: Mapping[str, Tensor], test: Samples | None) -> Announced:
    """The devices' data as the server knows it, from the ``signals [C, ...]`` that they announced."""
    shape, classes = own_shape(spec)
    one = torch.ones(clients, dtype=torch.long)
    samples = signals.get("samples", signals.get("labelled", one))
    stats: dict[str, Any] = {"samples": samples, "seen": signals.get("start_seen", samples)}
    stats["labelled"] = signals.get("labelled", samples)
    unknown = torch.zeros(clients, classes, dtype=torch.long)
    stats["label_counts"] = signals.get("label_counts", signals.get("start_label_counts", unknown))
    x, y = (torch.zeros(2, *shape), torch.zeros(2, dtype=torch.long)) if test is None else (test.x, test.y)
    number = torch.arange(len(y))
    pool = Pool(x, y, None if test is None else test.scale)
    test_set = TestSet(number, torch.zeros_like(number), 1, False, pool)
    bits = float(spec.plain["data"]["source"]["bits_per_value"])
    return Announced(stats, test_set, clients, shape, classes, bits)


def signal_shapes(sim: Simulation) -> dict[str, tuple[int, ...]]:
    """Names and shapes ``[1, ...]`` of what every device announces, as :func:`announced` makes it."""
    stats = sim.stream.stats(sim.stream.start())
    rows = stats | start_signals(stats)
    return {name: (1, *values.shape[1:]) for name, values in rows.items() if name in sim.algorithm.reveals}


def checked_signals(sim: Simulation, signals: Mapping[int, Slots]) -> list[int]:
    """Clients whose announced signals are not those of the spec's world, as the server draws it."""
    stream = sim.stream.start()
    known = data_signals(sim, stream)
    known = known | start_signals(known)
    return [
        number
        for number, slots in signals.items()
        if any(not torch.equal(rows[0], known[name][number]) for name, rows in slots.items())
    ]


def stacked(signals: Mapping[int, Slots], clients: Sequence[int]) -> Slots:
    """Signals ``[C, ...]`` of all clients."""
    names = sorted({name for slots in signals.values() for name in slots})
    return {name: torch.cat([signals[number][name] for number in clients]) for name in names}
