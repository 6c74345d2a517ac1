"""Random hardware of mobile devices, drawn once from the seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Fleet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import register
from fedradio.core.rng import Rng
from fedradio.fleet.keywords import (
    BudgetJ,
    Capacitance,
    CircuitW,
    CyclesPerBit,
    Efficiency,
    HighestDbm,
    HighestHz,
    IdleW,
    LowestHz,
    LowestW,
    Range,
    StaticW,
    floor_problems,
)


@dataclass(frozen=True)
class Hardware:
    """Values that all devices of a fleet have in common, as in :class:`fedradio.core.contracts.Fleet`."""

    capacitance: float
    cpu_min_hz: float
    tx_min_w: float
    circuit_w: float
    cpu_static_w: float
    pa_efficiency: float
    idle_w: float


def drawn_fleet(senders: int, rng: Rng, ranges: Mapping[str, Range | None], hardware: Hardware) -> Fleet:
    """Devices whose own values are drawn uniformly from ``ranges``, by name; without a range of the energy budget
    there is none."""
    known = {name: limits for name, limits in ranges.items() if limits is not None}
    problems = [
        Problem(f"fleet.{name}", "the lowest value comes first", "swap the two values", limits)
        for name, limits in known.items()
        if limits[0] > limits[1]
    ]
    problems += floor_problems(hardware.cpu_min_hz, known["f_max_hz"][0], hardware.tx_min_w, known["p_max_dbm"][0])
    if problems:
        raise SpecError(problems)
    sampled = {name: _uniform(senders, limits, rng.child(name)) for name, limits in known.items()}
    return Fleet(
        cycles_per_bit=sampled["cycles_per_bit"],
        f_max_hz=sampled["f_max_hz"],
        p_max_w=torch.pow(10.0, (sampled["p_max_dbm"] - 30.0) / 10.0),
        energy_j=sampled.get("energy_j", torch.full((senders,), torch.inf, dtype=torch.float64)),
        **vars(hardware),
    )


def _uniform(n: int, limits: Range, rng: Rng) -> Tensor:
    low, high = limits
    return torch.from_numpy(low + (high - low) * rng.numpy().random(n))


@register("fleet", "cellular", paper="RawHFL, section V")
def cellular(
    senders: int,
    rng: Rng,
    /,
    *,
    cycles_per_bit: CyclesPerBit = (25.0, 40.0),
    f_max_hz: HighestHz = (1.2e9, 2e9),
    p_max_dbm: HighestDbm = (20.0, 30.0),
    energy_j: BudgetJ = (0.8, 1.5),
    capacitance: Capacitance = 2e-28,
    cpu_min_hz: LowestHz = 0.0,
    tx_min_w: LowestW = 0.0,
    circuit_w: CircuitW = 0.0,
    cpu_static_w: StaticW = 0.0,
    pa_efficiency: Efficiency = 1.0,
    idle_w: IdleW = 0.0,
) -> Fleet:
    """Devices of RawHFL, section V: no floors.

    CPU frequency, transmit power, circuit and static power may be 0, so exact planners slow CPUs down to some MHz and
    send with microwatts, which no hardware does. Use ``handset``, ``iot`` or ``vehicle`` for joules of real devices.
    Each value is drawn uniformly from ``[lowest, highest]``.
    """
    ranges = {"cycles_per_bit": cycles_per_bit, "f_max_hz": f_max_hz, "p_max_dbm": p_max_dbm, "energy_j": energy_j}
    hardware = Hardware(capacitance, cpu_min_hz, tx_min_w, circuit_w, cpu_static_w, pa_efficiency, idle_w)
    return drawn_fleet(senders, rng, ranges, hardware)


@register("fleet", "handset")
def handset(
    senders: int,
    rng: Rng,
    /,
    *,
    cycles_per_bit: CyclesPerBit = (25.0, 40.0),
    f_max_hz: HighestHz = (1.8e9, 2.8e9),
    p_max_dbm: HighestDbm = (20.0, 25.0),
    energy_j: BudgetJ = None,
    capacitance: Capacitance = 1e-28,
    cpu_min_hz: LowestHz = 4e8,
    tx_min_w: LowestW = 1e-7,
    circuit_w: CircuitW = 0.74,
    cpu_static_w: StaticW = 0.1,
    pa_efficiency: Efficiency = 0.15,
    idle_w: IdleW = 0.02,
) -> Fleet:
    """Smartphones with a 4G or 5G modem; without an energy budget.

    Cycles, highest frequency and highest power are drawn for each device, the other values hold for all. In brackets
    is the range of the sources.

    - ``f_max_hz`` 1.8 to 2.8 GHz and ``cpu_min_hz`` 0.4 GHz (0.3 to 0.5): first and last operating points of the three
      kinds of cores of Google's Tensor (Linux, ``exynos/google/gs101.dtsi``: 0.300 to 1.803, 0.400 to 2.253 and 0.500
      to 2.802 GHz).
    - ``capacitance`` 1e-28 F (0.35e-28 to 1.85e-28): the same file has ``dynamic-power-coefficient`` 70, 284 and 650
      uW/MHz/V^2, and 0.906, 0.969 and 1.056 V at the highest points, hence 0.104, 0.600 and 2.03 W; ``zeta = 2 P/f^3``.
    - ``cpu_static_w`` 0.1 W (0.03 to 0.4): assumed. The cheapest frequency ``(P_static/zeta)^(1/3)`` is then 1 GHz;
      De Vogeleer et al., *The Energy/Frequency Convexity Rule* (2014), found a minimum between 0.2 and 1.6 GHz.
    - ``p_max_dbm`` 20 to 25: power class 3, 23 dBm with a tolerance of +2/-3 dB (3GPP TS 38.101-3, table 6.2B.1.1-1).
    - ``tx_min_w`` 1e-7 W: lowest controlled output power, -40 dBm (3GPP TS 38.101-1, table 6.3.1-1).
    - ``circuit_w`` 0.74 W (0.27 to 1.8) and ``pa_efficiency`` 0.15 (0.07 to 0.38): an uplink slot takes 250 units of
      power at 0 dBm and 700 at 23 dBm (3GPP TR 38.840, as quoted in the thesis ``bjoluc/5g-handover-optimization``),
      hence 247.7 units and 2.267 units per mW. The unit, 2.97 mW, is fitted: 700 units are the 2.08 W, (0.306 + 0.11) A
      at 5 V, with which an LTE modem sends in the ns-3 module ``LTE_Energy_Module_NS3`` (after Jensen et al., 2012).
      The thesis measured 6.5 mW a unit, and 40 mA asleep, on a 5G module, the upper end; the lower end is the module of
      ``iot``.
    - ``idle_w`` 0.02 W (0.003 to 0.76): discontinuous reception as observed in the thesis, 20 of 320 ms awake with 100
      of these units for the control channel, else deep sleep with 1: 7.2 units. The range goes from deep sleep in these
      units to 182 mA at 4.2 V, what the thesis measured on the 5G module awake (asleep: 40 mA, 0.17 W).
    - ``cycles_per_bit`` 25 to 40: assumed, RawHFL's.
    """
    ranges = {"cycles_per_bit": cycles_per_bit, "f_max_hz": f_max_hz, "p_max_dbm": p_max_dbm, "energy_j": energy_j}
    hardware = Hardware(capacitance, cpu_min_hz, tx_min_w, circuit_w, cpu_static_w, pa_efficiency, idle_w)
    return drawn_fleet(senders, rng, ranges, hardware)


@register("fleet", "iot")
def iot(
    senders: int,
    rng: Rng,
    /,
    *,
    cycles_per_bit: CyclesPerBit = (25.0, 40.0),
    f_max_hz: HighestHz = (6.4e7, 1.28e8),
    p_max_dbm: HighestDbm = (20.0, 23.0),
    energy_j: BudgetJ = None,
    capacitance: Capacitance = 6e-27,
    cpu_min_hz: LowestHz = 1.6e7,
    tx_min_w: LowestW = 1e-7,
    circuit_w: CircuitW = 0.27,
    cpu_static_w: StaticW = 5e-4,
    pa_efficiency: Efficiency = 0.38,
    idle_w: IdleW = 0.02,
) -> Fleet:
    """Sensors with an NB-IoT or LTE-M modem and a microcontroller; without an energy budget.

    Cycles, highest frequency and highest power are drawn for each device, the other values hold for all. In brackets
    is the range of the sources.

    - ``f_max_hz`` 64 to 128 MHz: the two Cortex-M33 cores of Nordic's nRF5340 (Zephyr, board ``nrf5340dk``).
    - ``capacitance`` 6e-27 F (3e-27 to 7e-26): 2.1 mA at 128 MHz (Nordic, preliminary datasheet of the nRF54LC10A) at
      an assumed 3 V are 6.3 mW; ``zeta = 2 P/f^3``. The range is assumed. Note: ``f^2`` in the energy of a cycle takes
      a voltage that falls with the frequency; with a fixed voltage, slow computing costs more than modelled here.
    - ``cpu_min_hz`` 16 MHz (1 to 64) and ``cpu_static_w`` 0.5 mW (0.1 to 5): assumed.
    - ``p_max_dbm`` 20 to 23: power classes 5 and 3, and ``tx_min_w`` 1e-7 W, -40 dBm (3GPP TS 36.101, tables 6.2.5F-1
      and 6.2.5F-2).
    - ``circuit_w`` 0.27 W (0.17 to 0.27) and ``pa_efficiency`` 0.38 (0.07 to 0.38): u-blox SARA-N2 draws 74 mA at -40
      dBm and 220 mA at 23 dBm (data sheet as quoted in the manual of NB|EASY) at 3.6 V: 0.266 W, and 0.526 W more for
      0.2 W on the air. Nordic's nRF9160 averages 45 mA at 0 dBm in LTE-M (product specification) at 3.7 V, 0.17 W, and
      100 to 115 mA at 23 dBm, pauses included; its peaks at full power are 300 mA (white paper nWP-034), 1.1 W, hence
      0.24. ``peteryej/LoRaWAN-NBIoTEnergyModels`` has 3.3 W at the highest power, hence 0.07.
    - ``idle_w`` 0.02 W (1e-5 to 0.022): 6 mA in active mode, 3 uA in deep sleep (the same data sheet); 19.8 mW in
      ``peteryej/LoRaWAN-NBIoTEnergyModels``.
    - ``cycles_per_bit`` 25 to 40: assumed, RawHFL's.
    """
    ranges = {"cycles_per_bit": cycles_per_bit, "f_max_hz": f_max_hz, "p_max_dbm": p_max_dbm, "energy_j": energy_j}
    hardware = Hardware(capacitance, cpu_min_hz, tx_min_w, circuit_w, cpu_static_w, pa_efficiency, idle_w)
    return drawn_fleet(senders, rng, ranges, hardware)


@register("fleet", "vehicle")
def vehicle(
    senders: int,
    rng: Rng,
    /,
    *,
    cycles_per_bit: CyclesPerBit = (25.0, 40.0),
    f_max_hz: HighestHz = (1.2e9, 2e9),
    p_max_dbm: HighestDbm = (23.0, 26.0),
    energy_j: BudgetJ = None,
    capacitance: Capacitance = 1.85e-28,
    cpu_min_hz: LowestHz = 3e8,
    tx_min_w: LowestW = 1e-7,
    circuit_w: CircuitW = 0.74,
    cpu_static_w: StaticW = 1.0,
    pa_efficiency: Efficiency = 0.15,
    idle_w: IdleW = 0.5,
) -> Fleet:
    """Vehicles with an on-board computer and a 4G or 5G modem; without an energy budget.

    Cycles, highest frequency and highest power are drawn for each device, the other values hold for all. In brackets
    is the range of the sources.

    - ``f_max_hz`` 1.2 to 2.0 GHz: power modes Max-Q to Max-N of NVIDIA's Jetson TX2 (``nvpmodel``).
    - ``capacitance`` 1.85e-28 F (1e-28 to 1.85e-28) and ``cpu_min_hz`` 0.3 GHz (0.3 to 0.5): large cores as in
      ``handset``.
    - ``cpu_static_w`` 1 W (0.3 to 5): assumed; computer boards draw far more than phones at rest.
    - ``p_max_dbm`` 23 to 26: power classes 3 and 2 (3GPP TS 36.101, table 6.2.2G-1; TS 38.101-3, table 6.2B.1.1-1).
    - ``tx_min_w`` 1e-7 W: -40 dBm (3GPP TS 38.101-1, table 6.3.1-1).
    - ``circuit_w`` 0.74 W (0.27 to 1.8) and ``pa_efficiency`` 0.15 (0.07 to 0.38): the modem of ``handset``.
    - ``idle_w`` 0.5 W (0.1 to 5): 0.1 A at 5 V, the waiting LTE modem of ``LTE_Energy_Module_NS3``; the range, with the
      waiting computer, is assumed.
    - ``cycles_per_bit`` 25 to 40: assumed, RawHFL's.
    """
    ranges = {"cycles_per_bit": cycles_per_bit, "f_max_hz": f_max_hz, "p_max_dbm": p_max_dbm, "energy_j": energy_j}
    hardware = Hardware(capacitance, cpu_min_hz, tx_min_w, circuit_w, cpu_static_w, pa_efficiency, idle_w)
    return drawn_fleet(senders, rng, ranges, hardware)
