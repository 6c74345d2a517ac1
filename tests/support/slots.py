"""The slots of two papers as policies see them: places, channels, devices and payloads of one exchange."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import pytest
import torch
from support.exchanges import exchange, realised
from torch import Tensor

from fedradio.core.contracts import ChannelState, Fleet, View
from fedradio.core.rng import Rng
from fedradio.fleet.costs import compute_s, cycles_per_step
from fedradio.fleet.profile import cellular, handset, iot, vehicle
from fedradio.links.digital import digital
from fedradio.links.rates import airtime_s
from fedradio.network.channel import urban_macro
from fedradio.network.topology import flat, hierarchical
from fedradio.policies.slot import Offer, SlotProblem, slot_of

RAWHFL_VALUES = 219_648
FLOORS = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05}
WAITING = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05, "idle_w": 2e-3}
WAITING_DEARLY = {"cpu_min_hz": 1e7, "circuit_w": 2e-3, "cpu_static_w": 1e-3, "idle_w": 6e-3}
"""Idle power below and above static and circuit power."""
AMPLIFIER = {"pa_efficiency": 0.25}
HARDWARE = {
    "free": {},
    "floors": FLOORS,
    "amplifier": FLOORS | AMPLIFIER,
    "waiting": WAITING | AMPLIFIER,
    "waiting dearly": WAITING_DEARLY | AMPLIFIER,
}
"""Kinds of devices for which planners must be exact."""
HARDWARE_KINDS = pytest.mark.parametrize("floors", HARDWARE.values(), ids=HARDWARE)


def values_of(kind: Callable[..., Fleet]) -> dict[str, object]:
    """The values of a kind of fleet, by keyword: those with which ``cellular`` draws the same devices."""
    return {name: each.default for name, each in signature(kind).parameters.items() if each.default is not each.empty}


FLEETS = HARDWARE | {kind.__name__: values_of(kind) for kind in (handset, iot, vehicle)}
FLEET_KINDS = pytest.mark.parametrize("floors", FLEETS.values(), ids=FLEETS)
"""The same, and the fleets that are shipped."""

VALUES, SAMPLE_BITS, SAMPLES = 1_026_772, 101_376, 160  # OSAFL's CNN on data set 1: five mini-batches of 32 a step


def rawhfl_view(seed: int, edges: int = 4, each: int = 12, deadline_s: float = 150.0, **floors: float) -> View:
    """RawHFL's world in one slot."""
    topology = hierarchical(Rng(seed), edges=edges, clients_per_edge=each)
    channel = realised(urban_macro(), topology, Rng(seed))
    fleet = cellular(edges * each, Rng(seed).child("fleet"), **floors)  # type: ignore[arg-type]
    cycles = fleet.cycles_per_bit * 440_320
    radio = {"channel": channel, "link": digital(), "fleet": fleet, "cycles_per_step": cycles}
    return exchange(topology.parents[0], message=RAWHFL_VALUES, deadline_s=deadline_s, **radio)  # type: ignore[arg-type]


def rawhfl_slot(seed: int, **more: float) -> SlotProblem:
    return slot_of(rawhfl_view(seed, **more))  # type: ignore[arg-type]


def osafl_view(seed: int, values: int = VALUES, clients: int = 60, deadline_s: float = 200.0, **floors: float) -> View:
    """OSAFL's world in one slot."""
    topology = flat(Rng(seed), clients=clients, radius_m=200.0, area="square")
    channel = realised(urban_macro(), topology, Rng(seed))
    fleet = cellular(clients, Rng(seed).child("f"), f_max_hz=(1e9, 1.8e9), energy_j=(1.2, 2.5), **floors)  # type: ignore[arg-type]
    cycles = cycles_per_step(fleet, SAMPLE_BITS, SAMPLES, 1.0)
    radio = {"channel": channel, "link": digital(), "fleet": fleet, "cycles_per_step": cycles}
    return exchange(topology.parents[0], message=values, deadline_s=deadline_s, **radio)  # type: ignore[arg-type]


def osafl_slot(seed: int, **more: float) -> SlotProblem:
    return slot_of(osafl_view(seed, **more))  # type: ignore[arg-type]


def one_client(budget_j: float = 1.0) -> View:
    """One client: 1e9 cycles a step, f_max 1 GHz, zeta 2e-28; P_max .3 W, an SNR of 3; 20 Mbit over 1 MHz in 30 s."""
    one = torch.ones(1, dtype=torch.float64)
    fleet = Fleet(one, 1e9 * one, 0.3 * one, budget_j * one, capacitance=2e-28)
    link = digital(bandwidth_hz=1e6, bits_per_value=20.0)
    channel = ChannelState(torch.full((1, 1), 1e-10, dtype=torch.float64), 1e-17)  # N0 w / g = 0.1 W
    radio = {"channel": channel, "link": link, "fleet": fleet, "cycles_per_step": 1e9 * one}
    return exchange([0], message=10**6, deadline_s=30.0, **radio)  # type: ignore[arg-type]


def seconds_and_joules(slot: SlotProblem, steps: Tensor, f: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Seconds of computing and sending, and joules with waiting for the deadline, written out; [S] or [S, n]."""
    fleet = slot.fleet
    unit, cycles = (each.view(-1, *[1] * (p.dim() - 1)) for each in (slot.unit_w, slot.cycles))
    tau, n = airtime_s(slot.bits, slot.bandwidth_hz, p, unit), steps * cycles
    busy = compute_s(n, f) + tau
    joules = 0.5 * fleet.capacitance * n * f**2 + fleet.cpu_static_w * compute_s(n, f)
    joules = joules + tau * (p / fleet.pa_efficiency + fleet.circuit_w)
    return busy, joules + fleet.idle_w * (slot.deadline_s - busy).clamp(min=0.0)


def cost_of(slot: SlotProblem, offer: Offer) -> tuple[Tensor, Tensor]:
    """The same of an offer."""
    return seconds_and_joules(slot, offer.steps, offer.cpu_hz, offer.power_w)
