"""Gains that fall with a power of the distance."""

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.power_law import power_law


def test_power_law_of_the_distance() -> None:
    """Two receivers, one sender at distance 2 and 0.5: gains 2^-4 and 2^4."""
    receivers = torch.tensor([[0.0, 0.0], [2.5, 0.0]], dtype=torch.float64)
    sender = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
    state = power_law().realise(receivers, sender, torch.zeros(1).long(), Rng(0))
    assert state.gain.tolist() == [[1 / 16], [16.0]]
    assert state.noise_w_hz == 10.0
    assert power_law(exponent=0, noise=0).realise(receivers, sender, torch.zeros(1).long(), Rng(0)).gain.sum() == 2.0


def test_many_close_pairs_keep_their_distance() -> None:
    """A distance of 1e-6 among forty nodes far from the origin is not lost in a difference of squares."""
    senders = torch.full((40, 2), 1000.0, dtype=torch.float64)
    senders[:, 0] += 1e-6
    receivers = torch.full((40, 2), 1000.0, dtype=torch.float64)
    gain = power_law(exponent=1).realise(receivers, senders, torch.zeros(40).long(), Rng(0)).gain
    assert torch.allclose(gain, torch.full_like(gain, 1e6), rtol=1e-6)


def test_a_sender_on_top_of_a_receiver_is_refused_by_number() -> None:
    nodes = torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], dtype=torch.float64)
    with pytest.raises(SpecError, match="sender 2 stands on receiver 0") as caught:
        power_law().realise(nodes[2:], nodes, torch.zeros(3).long(), Rng(0))
    assert caught.value.problems[0].path == "topology"
