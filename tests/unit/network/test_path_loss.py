"""Path losses of urban macro cells, by hand."""

import pytest
import torch

from fedradio.network.path_loss import (
    urban_macro_los_db,
    urban_macro_nlos_db,
    urban_macro_optional_nlos_db,
    urban_macro_sight,
)

D2 = torch.tensor([10.0, 50.0, 100.0, 200.0, 400.0], dtype=torch.float64)


PLACE = (2.4e9, 25.0, 1.5)


def distances(d2_m: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Horizontal distances, and those from a terminal at 1.5 m to a mast of 25 m."""
    return d2_m, torch.hypot(d2_m, torch.full_like(d2_m, 23.5))


def test_hand_computed_path_loss() -> None:
    """At 10 m: d3 = hypot(10, 23.5) = 25.539, 28 + 22*1.40721 + 20*0.38021 = 66.563 dB."""
    assert urban_macro_los_db(*distances(D2[:1]), *PLACE).item() == pytest.approx(66.563, abs=5e-4)


def test_check_values() -> None:
    found = urban_macro_los_db(*distances(D2), *PLACE)
    assert found.tolist() == pytest.approx([66.56, 73.94, 79.86, 86.29, 93.18], abs=0.006)
    found = urban_macro_nlos_db(*distances(D2), *PLACE)
    assert found.tolist() == pytest.approx([76.14, 89.23, 99.76, 111.18, 122.86], abs=0.006)
    assert urban_macro_sight(D2).tolist() == pytest.approx([1, 0.649, 0.348, 0.128, 0.047], abs=6e-4)


def test_loss_is_continuous_at_the_breakpoint() -> None:
    around = torch.tensor([384.0 - 1e-6, 384.0 + 1e-6], dtype=torch.float64)
    near, far = urban_macro_los_db(*distances(around), *PLACE).tolist()
    assert near == pytest.approx(far, abs=1e-4)


def test_optional_loss_out_of_sight() -> None:
    """At 100 m: d3 = 102.724, 32.4 + 20*0.38021 + 30*2.01167 = 100.354 dB; at 400 m 118.09 dB."""
    found = urban_macro_optional_nlos_db(distances(D2)[1], PLACE[0])
    assert found[[2, 4]].tolist() == pytest.approx([100.354, 118.09], abs=0.005)
