"""Gains of urban macro cells: statistics, noise, fresh draws."""

import math

import pytest
import torch
from support.exchanges import realised, site
from torch import Tensor

from fedradio.core.contracts import Clock, Topology
from fedradio.core.rng import Rng
from fedradio.network.channel import Redraw, _geometry, urban_macro
from fedradio.network.path_loss import urban_macro_sight
from fedradio.network.power_law import power_law
from fedradio.network.topology import hierarchical


def test_sight_and_shadowing_statistics() -> None:
    """At 100 m: a share P_LOS in sight, log-normal shadowing of 4 and 6 dB around the two losses."""
    n = 40_000
    centre = torch.zeros(1, 2, dtype=torch.float64)
    ring = torch.zeros(n, 2, dtype=torch.float64)
    ring[:, 0] = 100.0
    there = site(centre, ring)
    clear = realised(urban_macro(los_sigma_db=0, nlos_sigma_db=0), there, Rng(1)).gain[0]
    loss = -10 * torch.log10(clear)
    in_sight = loss < 90
    share = float(in_sight.double().mean())
    assert abs(share - 0.3478) < 4 * math.sqrt(0.3478 * 0.6522 / n)
    shadowed = realised(urban_macro(), there, Rng(1)).gain[0]
    shadow = -10 * torch.log10(shadowed) - loss
    for mask, sigma in ((in_sight, 4.0), (~in_sight, 6.0)):
        count = int(mask.sum())
        assert abs(float(shadow[mask].mean())) < 4 * sigma / math.sqrt(count)
        assert float(shadow[mask].std()) == pytest.approx(sigma, rel=4 / math.sqrt(2 * count))
    state = realised(urban_macro(fading="rayleigh"), there, Rng(1))
    assert torch.equal(state.gain[0], shadowed)  # what planners see has no fading
    assert state.rayleigh
    faded = state.power[0] / shadowed
    assert float(faded.mean()) == pytest.approx(1.0, abs=4 / math.sqrt(n))
    assert float((faded > 1).double().mean()) == pytest.approx(math.exp(-1), abs=0.01)


def test_noise_density() -> None:
    assert urban_macro().noise_w_hz == pytest.approx(3.981e-21, rel=1e-3)
    assert urban_macro(noise_figure_db=3).noise_w_hz == pytest.approx(2 * 3.981e-21, rel=5e-3)


def test_every_exchange_is_drawn_anew_and_reproducibly() -> None:
    """The generator is the hop's: exchanges differ by their clock, whatever its time in seconds."""
    receivers, senders = torch.zeros(2, 2, dtype=torch.float64), torch.full((3, 2), 50.0, dtype=torch.float64)
    clocks = (Clock(2, 1), Clock(2, 1, 9, 3.5), Clock(2, 0), Clock(1, 1))
    first, again, *others = (realised(urban_macro(), site(receivers, senders, at), Rng(1)).gain for at in clocks)
    assert first.shape == (2, 3)
    assert torch.equal(first, again)
    assert not any(torch.equal(first, other) for other in others)


def test_channels_say_how_they_fade() -> None:
    assert power_law().fading == "none"
    assert urban_macro().fading == "none"
    assert urban_macro(fading="rayleigh").fading == "block"


def test_kept_path_losses_change_nothing() -> None:
    """Gains of three exchanges are equal with path losses kept and computed anew; other places have their own."""
    near, far = hierarchical(Rng(1), edges=2, clients_per_edge=5), hierarchical(Rng(2), edges=2, clients_per_edge=5)
    channel = urban_macro(fading="rayleigh")

    def gains(topology: Topology) -> list[Tensor]:
        return [realised(channel, topology.site(0, Clock(t)), Rng(3)).power for t in range(3)]

    _geometry.cache_clear()
    kept, other = gains(near), gains(far)
    assert _geometry.cache_info().misses == 2
    for topology, before in ((near, kept), (far, other)):
        copy = Topology(topology.parents, tuple(map(torch.clone, topology.positions)))
        for gain, anew in zip(before, gains(copy), strict=True):
            assert torch.equal(gain, anew)
    assert not torch.equal(kept[0], other[0])


def test_the_optional_loss_changes_who_is_out_of_sight_only() -> None:
    """Without shadowing: in sight as before, out of sight 118.09 dB at 400 m in place of 122.86."""
    far = torch.zeros(2000, 2, dtype=torch.float64)
    far[:, 0] = 400.0
    there = site(torch.zeros(1, 2, dtype=torch.float64), far)
    still = {"los_sigma_db": 0.0, "nlos_sigma_db": 0.0}
    standard = realised(urban_macro(**still), there, Rng(1)).gain[0]
    optional = realised(urban_macro(**still, nlos="optional"), there, Rng(1)).gain[0]
    hidden = standard < 10**-11
    assert torch.equal(standard[~hidden], optional[~hidden])
    assert 0 < int((~hidden).sum()) < 200
    assert (-10 * torch.log10(optional[hidden])).tolist() == pytest.approx([118.09] * int(hidden.sum()), abs=0.005)


def gains(redraw: Redraw, receivers: Tensor, senders: Tensor, clock: Clock, seed: int = 1) -> Tensor:
    return realised(urban_macro(redraw=redraw), site(receivers, senders, clock), Rng(seed)).gain


def places(n: int, seed: int = 1) -> Tensor:
    return 200 * torch.from_numpy(Rng(seed).child("places").numpy().standard_normal((n, 2)))


@pytest.mark.parametrize("redraw", ["never", "place"])
def test_clients_at_rest_keep_their_gains(redraw: Redraw) -> None:
    masts, clients = places(3, 2), places(30)
    first, later = gains(redraw, masts, clients, Clock(0, 0)), gains(redraw, masts, clients, Clock(7, 2))
    assert torch.equal(first, later)
    assert not torch.equal(first, gains(redraw, masts, clients, Clock(0), seed=2))


def test_a_client_that_returns_has_its_gain_back_and_swapped_clients_swap() -> None:
    masts, home = places(3, 2), places(30)
    away = home.clone()
    away[4] += 120.0
    at_home, moved = (gains("place", masts, at, Clock(0)) for at in (home, away))
    assert torch.equal(gains("place", masts, away.where(away == home, home), Clock(5)), at_home)
    assert torch.equal(moved[:, 5:], at_home[:, 5:])
    assert bool((moved[:, 4] != at_home[:, 4]).all())
    swapped = home[[1, 0, *range(2, 30)]]
    assert torch.equal(gains("place", masts, swapped, Clock(0))[:, [1, 0]], at_home[:, :2])
    pairs = gains("never", masts, swapped, Clock(0)) / gains("never", masts, home, Clock(0))
    assert float((pairs[:, 0] - 1).abs().max()) > 1e-6  # draws of a pair stay with the pair


def test_a_gain_belongs_to_its_place_alone() -> None:
    """To the last bit: among fewer clients, in another order, and for a client that returns while all others move."""
    draws, channel = Rng(5).child("places").numpy(), urban_macro(redraw="place")
    masts = torch.from_numpy(draws.uniform(-500, 500, (5, 2)))
    for n in range(1, 72, 5):
        home, elsewhere = torch.from_numpy(draws.uniform(-500, 500, (2, n, 2)))
        elsewhere[n // 2] = home[n // 2]
        order = torch.from_numpy(draws.permutation(n))
        at_home, fewer, others, shuffled = (
            realised(channel, site(masts, at, Clock(t)), Rng(1)).gain
            for t, at in enumerate((home, home[: n // 2 + 1], elsewhere, home[order]))
        )
        assert torch.equal(fewer, at_home[:, : n // 2 + 1])
        assert torch.equal(others[:, n // 2], at_home[:, n // 2])
        assert torch.equal(shuffled, at_home[:, order])


def test_losses_of_a_pair_are_equal_in_a_long_and_in_a_short_tensor() -> None:
    """To the last bit, of 126,000 pairs, 63 at a time: where tensors end, some functions of torch round differently."""
    masts = torch.zeros(1, 2, dtype=torch.float64)
    ring = torch.from_numpy(Rng(6).numpy().uniform(-500, 500, (126_000, 2)))
    together = _geometry(masts, ring, 2.4e9, 25.0, 1.5, "optional", True)
    apart = [_geometry(masts, some, 2.4e9, 25.0, 1.5, "optional", True) for some in ring.split(63)]
    for one, many in zip(together, zip(*apart, strict=True), strict=True):
        assert torch.equal(one, torch.cat(many, dim=1))


def test_shadows_of_places() -> None:
    """Two masts at one place, 300 places around them, 60 seeds: sight as its probability, shadows of 4 and 6 dB, which
    correlate by one half between the masts."""
    n, seeds = 300, 60
    angle = torch.linspace(0, 2 * math.pi, n, dtype=torch.float64)
    ring = 150 * torch.stack((angle.cos(), angle.sin()), dim=1)
    masts = torch.zeros(2, 2, dtype=torch.float64)
    plain = urban_macro(redraw="place", los_sigma_db=0, nlos_sigma_db=0)
    clear, shadow = [], []
    for seed in range(seeds):
        there = site(masts, ring, Clock(0))
        clear.append(-10 * realised(plain, there, Rng(seed)).gain.log10())
        shadow.append(-10 * gains("place", masts, ring, Clock(0), seed).log10() - clear[-1])
    loss, found = torch.stack(clear), torch.stack(shadow)
    in_sight = loss < loss.mean()
    probability = float(urban_macro_sight(torch.tensor(150.0)))
    independent = seeds * 2 * math.pi * 150 / 100  # places that are two correlation distances apart
    assert float(in_sight.double().mean()) == pytest.approx(probability, abs=2 / math.sqrt(independent))
    for mask, sigma in ((in_sight, 4.0), (~in_sight, 6.0)):
        assert float(found[mask].std()) == pytest.approx(sigma, rel=0.1)
    both = ~in_sight[:, 0] & ~in_sight[:, 1]
    pair = torch.stack((found[:, 0][both], found[:, 1][both]))
    assert float(torch.corrcoef(pair)[0, 1]) == pytest.approx(0.5, abs=0.12)


def test_fading_belongs_to_the_exchange() -> None:
    channel = urban_macro(redraw="place", fading="rayleigh")
    first, later = (realised(channel, site(places(1, 2), places(5), Clock(t)), Rng(1)) for t in (0, 1))
    assert torch.equal(first.gain, later.gain)
    assert bool((first.power != later.power).all())
