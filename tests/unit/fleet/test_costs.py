"""Seconds and joules of computing and sending, by hand."""

import pytest
import torch

from fedradio.core.contracts import Fleet
from fedradio.fleet.costs import compute_j, compute_s, cycles_per_step, transmit_j


def one(**more: float) -> Fleet:
    column = {name: torch.tensor([value], dtype=torch.float64) for name, value in DEVICE.items()}
    return Fleet(**column, capacitance=2e-28, **more)


DEVICE = {"cycles_per_bit": 30.0, "f_max_hz": 1e9, "p_max_w": 0.1, "energy_j": 1.0}


def test_hand_computed_costs() -> None:
    """One step on 10 batches of 32 samples of 43*32 bits at 30 cycles a bit: 13,209,600 cycles. At 1 GHz fifty steps
    take 0.66048 s and 0.5 * 2e-28 * 660,480,000 * 1e18 = 0.066048 J."""
    fleet = one()
    cycles = cycles_per_step(fleet, 43 * 32, 320, 1.0)
    assert cycles.tolist() == [440_320 * 30.0]
    f = torch.tensor([1e9], dtype=torch.float64)
    assert compute_s(50 * cycles, f).item() == pytest.approx(0.66048, rel=1e-12)
    assert compute_j(fleet, 50 * cycles, f).item() == pytest.approx(0.066048, rel=1e-12)
    assert transmit_j(fleet, torch.tensor([0.1]), torch.tensor([2.0])).item() == pytest.approx(0.2)


def test_static_and_circuit_powers_add_their_duration() -> None:
    fleet = one(cpu_static_w=0.5, circuit_w=0.3)
    f = torch.tensor([1e9], dtype=torch.float64)
    assert compute_j(fleet, torch.tensor([2e9]), f).item() == pytest.approx(0.5 * 2e-28 * 2e9 * 1e18 + 0.5 * 2.0)
    assert transmit_j(fleet, torch.tensor([0.1]), torch.tensor([2.0])).item() == pytest.approx(0.8)


def test_no_work_takes_no_time_even_at_zero_hertz() -> None:
    zero = torch.zeros(1, dtype=torch.float64)
    assert compute_s(zero, zero).item() == 0.0
