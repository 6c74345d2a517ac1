"""Keywords that fleets share: CPU, amplifier, circuit, floors, and the power of waiting."""

from __future__ import annotations

from typing import Annotated

from fedradio.core.errors import Problem
from fedradio.core.registry import Arg
from fedradio.core.units import dbm_to_w

Range = tuple[float, float]
"""Lowest and highest value of a quantity that is drawn for each device."""

CyclesPerBit = Annotated[Range, Arg("CPU cycles per bit of data, drawn uniformly", unit="cycle/bit", gt=0, le=1e9)]
HighestHz = Annotated[Range, Arg("highest CPU frequency, drawn uniformly", unit="Hz", gt=0, le=1e12)]
HighestDbm = Annotated[Range, Arg("highest transmit power, drawn uniformly in dBm", unit="dBm", ge=-100, le=100)]
BudgetJ = Annotated[
    Range | None, Arg("energy budget per exchange, drawn uniformly; null: no budget", unit="J", ge=0, le=1e12)
]
Capacitance = Annotated[float, Arg("effective switched capacitance zeta", unit="F", ge=0, le=1.0)]
LowestHz = Annotated[float, Arg("lowest CPU frequency", unit="Hz", ge=0)]
LowestW = Annotated[float, Arg("lowest transmit power", unit="W", ge=0)]
CircuitW = Annotated[float, Arg("circuit power while transmitting", unit="W", ge=0, le=1e6)]
StaticW = Annotated[float, Arg("static power while computing", unit="W", ge=0, le=1e6)]
Efficiency = Annotated[float, Arg("efficiency of the power amplifier, radiated over drawn power", ge=1e-3, le=1)]
IdleW = Annotated[
    float, Arg("power while waiting for the end of the exchange, neither computing nor sending", unit="W", ge=0, le=1e6)
]


def floor_problems(cpu_min_hz: float, least_hz: float, tx_min_w: float, least_dbm: float) -> list[Problem]:
    """Problems of floors above the highest frequency or transmit power of some device."""
    floors = {
        "cpu_min_hz": (cpu_min_hz, "f_max_hz", least_hz),
        "tx_min_w": (tx_min_w, "p_max_dbm", dbm_to_w(least_dbm)),
    }
    return [
        Problem(f"fleet.{name}", f"above the lowest {highest}", f"at most {least:g}", floor)
        for name, (floor, highest, least) in floors.items()
        if floor > least
    ]
