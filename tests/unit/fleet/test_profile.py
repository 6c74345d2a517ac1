"""Drawn fleets: ranges, means and contradictions."""

import pytest
import torch

from fedradio.core.contracts import Fleet
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.core.units import dbm_to_w
from fedradio.fleet.costs import compute_j, cycles_per_step, transmit_j
from fedradio.fleet.profile import cellular, handset, iot, vehicle


def test_cellular_draws_within_its_ranges() -> None:
    fleet = cellular(500, Rng(1))
    for drawn, low, high in (
        (fleet.cycles_per_bit, 25, 40),
        (fleet.f_max_hz, 1.2e9, 2e9),
        (fleet.p_max_w, 0.1, 1.0),
        (fleet.energy_j, 0.8, 1.5),
    ):
        assert drawn.shape == (500,)
        assert low <= float(drawn.min()) <= float(drawn.max()) <= high
        assert float(drawn.std()) > 0


def test_mean_energy_of_fifty_steps_at_full_speed() -> None:
    """RawHFL's world: 50 local steps at f_max cost 0.188 J on average. E = zeta/2 * 50 * 440320 * E[c] * E[f^2] with
    E[c] = 32.5 and E[f^2] = 1.6e9^2 + (0.8e9)^2/12 gives 0.18705 J."""
    fleet = cellular(20_000, Rng(1))
    joules = compute_j(fleet, 50 * cycles_per_step(fleet, 43 * 32, 320, 1.0), fleet.f_max_hz)
    assert float(joules.mean()) == pytest.approx(0.18705, rel=0.01)


@pytest.mark.parametrize(
    ("keywords", "path"),
    [
        ({"f_max_hz": (2e9, 1e9)}, "fleet.f_max_hz"),
        ({"cpu_min_hz": 1.5e9}, "fleet.cpu_min_hz"),
        ({"tx_min_w": 0.5}, "fleet.tx_min_w"),
    ],
)
def test_contradictions_are_refused(keywords: dict[str, object], path: str) -> None:
    with pytest.raises(SpecError, match=path):
        cellular(3, Rng(0), **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fleet", "f_max_hz", "p_max_dbm"),
    [
        (handset(400, Rng(1)), (1.8e9, 2.8e9), (20, 25)),
        (iot(400, Rng(1)), (64e6, 128e6), (20, 23)),
        (vehicle(400, Rng(1)), (1.2e9, 2e9), (23, 26)),
    ],
    ids=["handset", "iot", "vehicle"],
)
def test_hardware_has_floors_and_no_budget(
    fleet: Fleet, f_max_hz: tuple[float, float], p_max_dbm: tuple[float, float]
) -> None:
    for drawn, (low, high) in (
        (fleet.f_max_hz, f_max_hz),
        (fleet.p_max_w, (dbm_to_w(p_max_dbm[0]), dbm_to_w(p_max_dbm[1]))),
        (fleet.cycles_per_bit, (25, 40)),
    ):
        assert low <= float(drawn.min()) <= low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) <= float(drawn.max()) <= high
    assert fleet.energy_j.tolist() == [float("inf")] * 400
    assert fleet.tx_min_w == pytest.approx(dbm_to_w(-40))
    assert 0 < fleet.cpu_min_hz < f_max_hz[0]
    assert min(fleet.circuit_w, fleet.cpu_static_w, fleet.idle_w) > 0
    assert 0 < fleet.pa_efficiency < 1


def test_handsets_draw_what_the_sources_say() -> None:
    """A large core of .104 to 2.03 W at full speed, 1.8 to 2.8 GHz; a transmitter of 700 and 250 units of 2.97 mW at
    23 and 0 dBm; a cheapest frequency of 1 GHz."""
    fleet = handset(1, Rng(0))
    second = torch.ones(1, dtype=torch.float64)
    for cpu_hz in (1.8e9, 2.8e9):
        watts = compute_j(fleet, cpu_hz * second, cpu_hz * second).item() - fleet.cpu_static_w
        assert 0.104 < watts < 2.03
    for dbm, units in ((23, 700), (0, 250)):
        watts = transmit_j(fleet, dbm_to_w(dbm) * second, second).item()
        assert watts == pytest.approx(units * 2.97e-3, rel=0.01)
    assert (fleet.cpu_static_w / fleet.capacitance) ** (1 / 3) == pytest.approx(1e9)


def test_the_module_of_a_sensor_draws_what_its_data_sheet_says() -> None:
    """74 mA at -40 dBm and 220 mA at 23 dBm from 3.6 V; 2.1 mA at 128 MHz from 3 V."""
    fleet = iot(1, Rng(0))
    second = torch.ones(1, dtype=torch.float64)
    for dbm, amperes in ((-40, 0.074), (23, 0.220)):
        watts = transmit_j(fleet, dbm_to_w(dbm) * second, second).item()
        assert watts == pytest.approx(3.6 * amperes, rel=0.02)
    watts = compute_j(fleet, 128e6 * second, 128e6 * second).item() - fleet.cpu_static_w
    assert watts == pytest.approx(3 * 2.1e-3, rel=0.02)


def test_no_budget_is_an_infinite_one() -> None:
    assert cellular(3, Rng(0), energy_j=None).energy_j.tolist() == [float("inf")] * 3
    assert torch.equal(cellular(3, Rng(0), energy_j=None).f_max_hz, cellular(3, Rng(0)).f_max_hz)
