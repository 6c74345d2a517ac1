"""Whether the clients of a run used frequencies and powers that no hardware has."""

from __future__ import annotations

from collections.abc import Mapping

from fedradio.core.units import w_to_dbm
from fedradio.results.run import Run

LEAST_CPU_HZ = 50e6
"""Lowest frequency of application processors, rounded down generously."""
LEAST_POWER_W = 1e-7
"""Lowest controlled output power of a transmitter, -40 dBm (3GPP TS 38.101-1, table 6.3.1-1)."""


def floors_text(run: Run) -> str:
    """``no floors: CPU down to 0.2 MHz`` if devices without a lowest frequency or power used less than hardware has;
    empty otherwise.

    A device with a floor is taken at its word: a microcontroller may run at 16 MHz.
    """
    summary, fleet = run.summary or {}, run.spec.plain["hops"][0]["fleet"]
    floors = fleet if isinstance(fleet, Mapping) else {}
    cpu_hz, power_w = summary.get("least_cpu_hz"), summary.get("least_power_w")
    found = []
    if cpu_hz is not None and cpu_hz < LEAST_CPU_HZ and not floors.get("cpu_min_hz"):
        found.append(f"CPU down to {cpu_hz / 1e6:.2g} MHz")
    if power_w is not None and 0 < power_w < LEAST_POWER_W and not floors.get("tx_min_w"):
        found.append(f"power down to {w_to_dbm(power_w):.0f} dBm")
    return f"no floors: {', '.join(found)}" if found else ""
