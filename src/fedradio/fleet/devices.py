"""Device hardware from a file, one row per sender."""

from __future__ import annotations

from typing import Annotated

import torch

from fedradio.core.contracts import Fleet
from fedradio.core.errors import SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import read_table
from fedradio.fleet.keywords import (
    Capacitance,
    CircuitW,
    Efficiency,
    IdleW,
    LowestHz,
    LowestW,
    StaticW,
    floor_problems,
)

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
    capacitance: Capacitance = 2e-28,
    cpu_min_hz: LowestHz = 0.0,
    tx_min_w: LowestW = 0.0,
    circuit_w: CircuitW = 0.0,
    cpu_static_w: StaticW = 0.0,
    pa_efficiency: Efficiency = 1.0,
    idle_w: IdleW = 0.0,
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
    least_hz, least_dbm = (float(found[name].min()) for name in ("f_max_hz", "p_max_dbm"))
    if problems := floor_problems(cpu_min_hz, least_hz, tx_min_w, least_dbm):
        raise SpecError(problems)
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
        pa_efficiency=pa_efficiency,
        idle_w=idle_w,
    )
