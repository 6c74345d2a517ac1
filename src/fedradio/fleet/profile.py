"""Random hardware of mobile devices, drawn once from the seed."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Fleet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.units import dbm_to_w

Range = tuple[float, float]


@register("fleet", "cellular", paper="RawHFL, section V")
def cellular(
    senders: int,
    rng: Rng,
    /,
    *,
    cycles_per_bit: Annotated[
        Range, Arg("CPU cycles per bit of data, drawn uniformly", unit="cycle/bit", gt=0, le=1e9)
    ] = (25.0, 40.0),
    f_max_hz: Annotated[Range, Arg("highest CPU frequency, drawn uniformly", unit="Hz", gt=0, le=1e12)] = (1.2e9, 2e9),
    p_max_dbm: Annotated[Range, Arg("highest transmit power, drawn uniformly in dBm", unit="dBm", ge=-100, le=100)] = (
        20.0,
        30.0,
    ),
    energy_j: Annotated[Range, Arg("energy budget per exchange, drawn uniformly", unit="J", ge=0, le=1e12)] = (
        0.8,
        1.5,
    ),
    capacitance: Annotated[float, Arg("effective switched capacitance zeta", unit="F", ge=0, le=1.0)] = 2e-28,
    cpu_min_hz: Annotated[float, Arg("lowest CPU frequency", unit="Hz", ge=0)] = 0.0,
    tx_min_w: Annotated[float, Arg("lowest transmit power", unit="W", ge=0)] = 0.0,
    circuit_w: Annotated[float, Arg("circuit power while transmitting", unit="W", ge=0, le=1e6)] = 0.0,
    cpu_static_w: Annotated[float, Arg("static power while computing", unit="W", ge=0, le=1e6)] = 0.0,
) -> Fleet:
    """Mobile devices with a CPU and a transmitter; each value is drawn uniformly from ``[lowest, highest]``."""
    ranges = {
        "cycles_per_bit": cycles_per_bit,
        "f_max_hz": f_max_hz,
        "p_max_dbm": p_max_dbm,
        "energy_j": energy_j,
    }
    problems = [
        Problem(f"fleet.{name}", "the lowest value comes first", "swap the two values", limits)
        for name, limits in ranges.items()
        if limits[0] > limits[1]
    ]
    if cpu_min_hz > f_max_hz[0]:
        problems.append(
            Problem("fleet.cpu_min_hz", "above the lowest f_max_hz", f"at most {f_max_hz[0]:g}", cpu_min_hz)
        )
    if tx_min_w > dbm_to_w(p_max_dbm[0]):
        remedy = f"at most {dbm_to_w(p_max_dbm[0]):g}"
        problems.append(Problem("fleet.tx_min_w", "above the lowest p_max_dbm", remedy, tx_min_w))
    if problems:
        raise SpecError(problems)
    sampled = {name: _uniform(senders, limits, rng.child(name)) for name, limits in ranges.items()}
    return Fleet(
        cycles_per_bit=sampled["cycles_per_bit"],
        f_max_hz=sampled["f_max_hz"],
        p_max_w=torch.pow(10.0, (sampled["p_max_dbm"] - 30.0) / 10.0),
        energy_j=sampled["energy_j"],
        capacitance=capacitance,
        cpu_min_hz=cpu_min_hz,
        tx_min_w=tx_min_w,
        circuit_w=circuit_w,
        cpu_static_w=cpu_static_w,
    )


def _uniform(n: int, limits: Range, rng: Rng) -> Tensor:
    low, high = limits
    return torch.from_numpy(low + (high - low) * rng.numpy().random(n))
