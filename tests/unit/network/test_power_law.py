"""Gains that fall with a power of the distance."""

import pytest
import torch
from support.exchanges import realised, site

from fedradio.core.contracts import Clock
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.power_law import _gains, power_law
from fedradio.network.topology import hierarchical


def test_power_law_of_the_distance() -> None:
    """Two receivers, one sender at distance 2 and 0.5: gains 2^-4 and 2^4."""
    receivers = torch.tensor([[0.0, 0.0], [2.5, 0.0]], dtype=torch.float64)
    sender = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
    state = realised(power_law(), site(receivers, sender))
    assert state.gain.tolist() == [[1 / 16], [16.0]]
    assert (state.noise_symbol, state.noise_w_hz) == (10.0, None)
    dense = realised(power_law(noise_w_hz=4e-21), site(receivers, sender))
    assert (dense.noise_symbol, dense.noise_w_hz) == (None, 4e-21)
    assert realised(power_law(exponent=0, noise_symbol=0), site(receivers, sender)).gain.sum() == 2.0


def test_many_close_pairs_keep_their_distance() -> None:
    """A distance of 1e-6 among forty nodes far from the origin is not lost in a difference of squares."""
    senders = torch.full((40, 2), 1000.0, dtype=torch.float64)
    senders[:, 0] += 1e-6
    receivers = torch.full((40, 2), 1000.0, dtype=torch.float64)
    gain = realised(power_law(exponent=1), site(receivers, senders)).gain
    assert torch.allclose(gain, torch.full_like(gain, 1e6), rtol=1e-6)


def test_a_sender_on_top_of_a_receiver_is_refused_by_number() -> None:
    nodes = torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], dtype=torch.float64)
    with pytest.raises(SpecError, match="sender 2 is at the position of receiver 0") as caught:
        realised(power_law(), site(nodes[2:], nodes))
    assert caught.value.problems[0].path == "topology"


def test_kept_gains_change_nothing() -> None:
    """Gains of three exchanges are computed once, and equal those of the same places as other objects; other places
    and another exponent have their own."""
    near, far = (hierarchical(Rng(seed), edges=2, clients_per_edge=5) for seed in (1, 2))
    _gains.cache_clear()
    kept = [realised(power_law(), near.site(0, Clock(t)), Rng(3)).gain for t in range(3)]
    assert _gains.cache_info().misses == 1
    anew = realised(power_law(), site(near.positions[1].clone(), near.positions[0].clone())).gain
    assert all(torch.equal(gain, anew) for gain in kept)
    assert not torch.equal(realised(power_law(), far).gain, anew)
    assert not torch.equal(realised(power_law(exponent=2), near).gain, anew)
