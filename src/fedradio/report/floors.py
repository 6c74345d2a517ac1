"""Whether the clients of a run used frequencies and powers that no hardware has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedradio.core.units import w_to_dbm
from fedradio.results.run import Run

LEAST_CPU_HZ = 50e6
"""Lowest frequency of application processors, rounded down generously."""
ROUNDING = 1e-9
"""A power at the floor itself may be computed as slightly less."""
LEAST_SHARE = 0.1
"""Lowest frequency of slower processors, over their highest: microcontrollers of 64 to 128 MHz may run at 16 MHz."""
LEAST_POWER_W = 1e-7
"""Lowest controlled output power of a transmitter, -40 dBm (3GPP TS 38.101-1, table 6.3.1-1)."""


def floors_text(run: Run) -> str:
    """``no floors: CPU down to 0.2 MHz`` if the lowest frequency or power that was used is below what hardware has;
    empty otherwise. The floors that the fleet declares do not matter.

    Frequencies: below 50 MHz, or below a tenth of the fleet's highest frequency if that is less. Powers: below -40 dBm.
    A run without a summary, such as one in progress, has them in its records.
    """
    fleet = run.spec.plain["hops"][0]["fleet"]
    if run.summary is None:
        cpu_hz, power_w = run.digest.least_cpu_hz, run.digest.least_power_w
    else:
        cpu_hz, power_w = run.summary.get("least_cpu_hz"), run.summary.get("least_power_w")
    found = []
    if cpu_hz is not None and cpu_hz < _least_hz(fleet):
        found.append(f"CPU down to {cpu_hz / 1e6:.2g} MHz")
    if power_w is not None and 0 < power_w < LEAST_POWER_W * (1 - ROUNDING):
        found.append(f"power down to {w_to_dbm(power_w):.0f} dBm")
    return f"no floors: {', '.join(found)}" if found else ""


def _least_hz(fleet: Mapping[str, Any] | None) -> float:
    """Lowest frequency in Hz that the hardware of a fleet may have; only drawn fleets tell their highest."""
    highest = (fleet or {}).get("f_max_hz")
    return min(LEAST_CPU_HZ, LEAST_SHARE * highest[0]) if isinstance(highest, list) else LEAST_CPU_HZ
