"""Drawn fleets: ranges, means and contradictions."""

import pytest

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.costs import compute_j, cycles_per_step
from fedradio.fleet.profile import cellular


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
