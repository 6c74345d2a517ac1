"""Gains of urban macro cells: statistics, noise, fresh draws."""

import math

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import Topology
from fedradio.core.rng import Rng
from fedradio.network.channel import _geometry, urban_macro
from fedradio.network.power_law import power_law
from fedradio.network.topology import hierarchical


def test_sight_and_shadowing_statistics() -> None:
    """At 100 m: a share P_LOS in sight, log-normal shadowing of 4 and 6 dB around the two losses."""
    n = 40_000
    centre = torch.zeros(1, 2, dtype=torch.float64)
    ring = torch.zeros(n, 2, dtype=torch.float64)
    ring[:, 0] = 100.0
    parent = torch.zeros(n, dtype=torch.long)
    clear = urban_macro(los_sigma_db=0, nlos_sigma_db=0).realise(centre, ring, parent, Rng(1)).gain[0]
    loss = -10 * torch.log10(clear)
    in_sight = loss < 90
    share = float(in_sight.double().mean())
    assert abs(share - 0.3478) < 4 * math.sqrt(0.3478 * 0.6522 / n)
    shadowed = urban_macro().realise(centre, ring, parent, Rng(1)).gain[0]
    shadow = -10 * torch.log10(shadowed) - loss
    for mask, sigma in ((in_sight, 4.0), (~in_sight, 6.0)):
        count = int(mask.sum())
        assert abs(float(shadow[mask].mean())) < 4 * sigma / math.sqrt(count)
        assert float(shadow[mask].std()) == pytest.approx(sigma, rel=4 / math.sqrt(2 * count))
    faded = urban_macro(fading="rayleigh").realise(centre, ring, parent, Rng(1)).gain[0] / shadowed
    assert float(faded.mean()) == pytest.approx(1.0, abs=4 / math.sqrt(n))
    assert float((faded > 1).double().mean()) == pytest.approx(math.exp(-1), abs=0.01)


def test_noise_density() -> None:
    assert urban_macro().noise_w_hz == pytest.approx(3.981e-21, rel=1e-3)
    assert urban_macro(noise_figure_db=3).noise_w_hz == pytest.approx(2 * 3.981e-21, rel=5e-3)


def test_every_exchange_is_drawn_anew_and_reproducibly() -> None:
    receivers, senders = torch.zeros(2, 2, dtype=torch.float64), torch.full((3, 2), 50.0, dtype=torch.float64)
    parent = torch.zeros(3, dtype=torch.long)
    channel = urban_macro()
    first = channel.realise(receivers, senders, parent, Rng(1).child(0)).gain
    assert first.shape == (2, 3)
    assert torch.equal(first, channel.realise(receivers, senders, parent, Rng(1).child(0)).gain)
    assert not torch.equal(first, channel.realise(receivers, senders, parent, Rng(1).child(1)).gain)


def test_channels_say_whether_a_block_fades() -> None:
    assert not power_law().block_fading
    assert not urban_macro().block_fading
    assert urban_macro(fading="rayleigh").block_fading


def test_kept_path_losses_change_nothing() -> None:
    """Gains of three exchanges are equal with path losses kept and computed anew; other places have their own."""
    near, far = hierarchical(Rng(1), edges=2, clients_per_edge=5), hierarchical(Rng(2), edges=2, clients_per_edge=5)
    channel = urban_macro(fading="rayleigh")

    def gains(topology: Topology) -> list[Tensor]:
        edges, clients = topology.positions[1], topology.positions[0]
        return [channel.realise(edges, clients, topology.parents[0], Rng(3).child(t)).gain for t in range(3)]

    _geometry.cache_clear()
    kept, other = gains(near), gains(far)
    assert _geometry.cache_info().misses == 2
    for topology, before in ((near, kept), (far, other)):
        copy = Topology(topology.parents, tuple(map(torch.clone, topology.positions)))
        for gain, anew in zip(before, gains(copy), strict=True):
            assert torch.equal(gain, anew)
    assert not torch.equal(kept[0], other[0])
