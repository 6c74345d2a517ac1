"""Device hardware from a file, one row per sender."""

from __future__ import annotations

from typing import Annotated

import torch

from fedradio.core.contracts import Fleet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import read_table
from fedradio.core.units import dbm_to_w

BOUNDS = {"cycles_per_bit": (1e-9, 1e9), "f_max_hz": (1.0, 1e12), "p_max_dbm": (-100.0, 100.0), "energy_j": (0.0, 1e12)}
"""Columns, and the least and the largest number in each."""

WHERE = "fleet.path"


@register("fleet", "file")
def devices(
    senders: int,
    rng: Rng,
    /,
    *,
    path: Annotated[
        str, Arg("CSV file with columns cycles_per_bit,f_max_hz,p_max_dbm,energy_j and one row per sender", file=True)
    ],
    capacitance: Annotated[float, Arg("effective switched capacitance zeta", unit="F", ge=0, le=1.0)] = 2e-28,
    cpu_min_hz: Annotated[float, Arg("lowest CPU frequency", unit="Hz", ge=0)] = 0.0,
    tx_min_w: Annotated[float, Arg("lowest transmit power", unit="W", ge=0)] = 0.0,
    circuit_w: Annotated[float, Arg("circuit power while transmitting", unit="W", ge=0, le=1e6)] = 0.0,
    cpu_static_w: Annotated[float, Arg("static power while computing", unit="W", ge=0, le=1e6)] = 0.0,
) -> Fleet:
    """Your own devices, from a file: CPU, transmitter and energy budget of every sender of the hop, in order.

    ``cycles_per_bit`` is in cycles per bit of data, ``f_max_hz`` in Hz, ``p_max_dbm`` in dBm and ``energy_j`` in joules
    per exchange.
    """
    table = read_table(path, WHERE, tuple(BOUNDS))
    if len(table.rows) != senders:
        raise table.wrong(f"{len(table.rows)} devices, but the hop has {senders} senders")
    found = {name: torch.from_numpy(table.numbers(name, *limits)) for name, limits in BOUNDS.items()}
    p_max_w = torch.pow(10.0, (found["p_max_dbm"] - 30.0) / 10.0)
    _check_floor("cpu_min_hz", cpu_min_hz, "f_max_hz", float(found["f_max_hz"].min()))
    _check_floor("tx_min_w", tx_min_w, "p_max_dbm", dbm_to_w(float(found["p_max_dbm"].min())))
    return Fleet(
        cycles_per_bit=found["cycles_per_bit"],
        f_max_hz=found["f_max_hz"],
        p_max_w=p_max_w,
        energy_j=found["energy_j"],
        capacitance=capacitance,
        cpu_min_hz=cpu_min_hz,
        tx_min_w=tx_min_w,
        circuit_w=circuit_w,
        cpu_static_w=cpu_static_w,
    )


def _check_floor(name: str, floor: float, highest: str, least: float) -> None:
    """Refuse a lowest value above the highest of some device."""
    if floor > least:
        raise SpecError(Problem(f"fleet.{name}", f"above the lowest {highest}", f"at most {least:g}", floor))
