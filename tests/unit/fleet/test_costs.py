"""Seconds and joules of computing and sending, by hand."""

import pytest
import torch

from fedradio.core.contracts import Fleet
from fedradio.fleet.costs import beyond_idle, compute_j, compute_s, cycles_per_step, sender_j, transmit_j, wait_j


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
    assert transmit_j(fleet, torch.tensor([0.2]), torch.tensor([2.0])).item() == pytest.approx(0.2)


def test_static_and_circuit_powers_add_their_duration() -> None:
    fleet = one(cpu_static_w=0.5, circuit_w=0.3)
    f = torch.tensor([1e9], dtype=torch.float64)
    assert compute_j(fleet, torch.tensor([2e9]), f).item() == pytest.approx(0.5 * 2e-28 * 2e9 * 1e18 + 0.5 * 2.0)
    assert transmit_j(fleet, torch.tensor([0.2]), torch.tensor([2.0])).item() == pytest.approx(0.8)


def doubles(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_a_second_on_the_air_by_hand() -> None:
    """.2 W from an amplifier of 25 % draw .8 W, the circuit .5 W more: 1.3 J a second."""
    fleet = one(pa_efficiency=0.25, circuit_w=0.5)
    assert transmit_j(fleet, doubles(0.2), doubles(1.0)).item() == pytest.approx(1.3)


def test_the_cheapest_frequency_by_hand() -> None:
    """1e9 cycles with .1 W of static power: .1 + .1 J at 1 GHz, .00625 + .4 J at .25 GHz; the cheapest frequency is
    ``(P_static/zeta)^(1/3)`` = 793.7 MHz with .0630 + .1260 J."""
    fleet, cycles = one(cpu_static_w=0.1), doubles(1e9)

    def joules(cpu_hz: float) -> float:
        return compute_j(fleet, cycles, doubles(cpu_hz)).item()

    assert joules(1e9) == pytest.approx(0.2)
    assert joules(0.25e9) == pytest.approx(0.40625)
    best = (0.1 / 2e-28) ** (1 / 3)
    assert best == pytest.approx(793.7005e6)
    assert joules(best) == pytest.approx(0.188988, rel=1e-5)
    assert min(joules(best * 0.99), joules(best * 1.01)) > joules(best)


def test_waiting_by_hand() -> None:
    """Of 2 s half a second is spent with computing, .3 s with sending: 1.2 s at .02 W are .024 J. Whoever ends later
    than the exchange does not wait."""
    fleet = one(idle_w=0.02)
    assert wait_j(fleet, doubles(1.2, 0.0, -0.5)).tolist() == pytest.approx([0.024, 0.0, 0.0])
    cpu, power, tau = doubles(1e9), doubles(0.1), doubles(0.3)
    busy = sender_j(one(), doubles(0.5e9), cpu, power, tau, 2.0).item()
    assert busy == pytest.approx(0.5 * 2e-28 * 0.5e9 * 1e18 + 0.03)
    assert sender_j(fleet, doubles(0.5e9), cpu, power, tau, 2.0).item() == pytest.approx(busy + 0.024)
    assert sender_j(fleet, doubles(0.5e9), cpu, power, tau, 0.7).item() == pytest.approx(busy)


def test_energy_is_idle_power_until_the_deadline_and_what_is_drawn_beyond_it() -> None:
    fleet = one(idle_w=0.02, cpu_static_w=0.01, circuit_w=0.5, pa_efficiency=0.3)
    plan = (doubles(0.5e9), doubles(1e9), doubles(0.1), doubles(0.3), 2.0)
    assert sender_j(fleet, *plan).item() == pytest.approx(sender_j(beyond_idle(fleet), *plan).item() + 0.02 * 2.0)


def test_no_work_takes_no_time_even_at_zero_hertz() -> None:
    zero = torch.zeros(1, dtype=torch.float64)
    assert compute_s(zero, zero).item() == 0.0
