"""What receivers hear of superposed symbols, by hand; distributions are in ``tests/statistical``."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.links import air as kernels
from fedradio.links.air import Air, direct, error_split, exact, hear, symbols


def pair(**changes: Any) -> Air:
    """Two own senders with gains 1 and 3, a foreign one with gain 0.5, noise 8, two antennas."""
    gain = np.array([[1.0, 3.0, 0.5], [0.0, 0.0, 1.0]])
    return replace(Air(gain, np.array([0, 0, 1]), np.ones(3), np.ones(3), noise=8.0, antennas=2), **changes)


def random_air(rng: Rng, senders: int = 6, receivers: int = 2, **changes: Any) -> Air:
    """Uneven gains, amplitudes and weights; the last receiver has nobody."""
    g = rng.numpy()
    amplitude, factor = g.uniform(0.5, 2.0, (2, senders))
    gain = g.exponential(size=(receivers + 1, senders))
    air = Air(gain, np.arange(senders) % receivers, amplitude, factor, noise=2.0, antennas=4, sigma_h2=0.5)
    return replace(air, **changes)


def test_hand_computed_mean_and_spread() -> None:
    """x = 1, 5 and a foreign 2i: xbar = (1 + 15)/4 = 4, D = (8 + 9 + 3 + 0.5*4)/4 = 5.5; numbers: [re | im]."""
    payload = torch.tensor([[[1.0, 0.0]], [[5.0, 0.0]], [[0.0, 2.0]]])
    heard = hear(pair(), payload)
    assert heard.mean[0, 0].tolist() == [4.0, 0.0]
    assert heard.spread[0, 0].tolist() == [5.5]
    assert heard.power.tolist() == [1.0, 25.0, 4.0]
    assert heard.bias[0].item() == pytest.approx((4 - 3) ** 2)


def test_hand_computed_with_unequal_amplitudes() -> None:
    """P = 2, 1: Pbar = (2 + 3)/4 = 1.25, x' = 1.6, 4, xbar = 13.6/4 = 3.4,
    D = (8/1.5625 + 1.8^2 + 3*0.6^2 + 0.5*(2*2/1.25)^2)/4 = (5.12 + 3.24 + 1.08 + 5.12)/4 = 3.64."""
    payload = torch.tensor([[[1.0, 0.0]], [[5.0, 0.0]], [[0.0, 2.0]]])
    heard = hear(pair(amplitude=np.array([2.0, 1.0, 2.0])), payload)
    assert heard.mean[0, 0].tolist() == pytest.approx([3.4, 0.0])
    assert heard.spread[0, 0].tolist() == pytest.approx([3.64])


def test_a_common_amplitude_only_lowers_the_noise() -> None:
    payload = torch.randn(3, 1, 8, generator=Rng(1).torch())
    one, three = hear(pair(), payload), hear(pair(amplitude=np.full(3, 3.0)), payload)
    assert torch.allclose(one.mean, three.mean)
    assert torch.allclose(one.spread[0] - three.spread[0], torch.full((1, 4), (8 - 8 / 9) / 4), rtol=1e-4)


def test_hand_computed_error_split() -> None:
    """K = 2, S = 4, |x|^2 = 1, 25, 4: fading (1 + 9*25)/32, intra (3 + 3*25)/32, inter 0.5*4/8, noise 8/8."""
    split = error_split(pair(), np.array([1.0, 25.0, 4.0]))
    found = {name: float(values[0]) for name, values in split.items()}
    assert found == pytest.approx({"fading": 226 / 32, "intra": 78 / 32, "inter": 0.25, "noise": 1.0})


def test_the_split_adds_up_to_the_variance() -> None:
    """``E|yhat - xbar|^2 = (|xbar|^2 + D)/K`` of the sampler is the four causes, whatever amplitudes and weights."""
    payload = torch.randn(6, 2, 11, generator=Rng(2).torch(), dtype=torch.float64)
    for normaliser in ("mean", "sum"):
        air = random_air(Rng(3), normaliser=normaliser)
        heard = hear(air, payload)
        per_symbol = (heard.mean.square().sum(dim=(1, 2)) + heard.spread.sum(dim=(1, 2))) / 12
        variance = air.slope**2 * per_symbol.numpy() / air.antennas
        assert np.allclose(sum(error_split(air, heard.power).values()), variance, rtol=1e-12)


def test_pieces_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = torch.randn(6, 2, 301, generator=Rng(4).torch())
    air = random_air(Rng(5))
    whole = hear(air, payload)
    monkeypatch.setattr(kernels, "CACHED", 0)  # 64 symbols at a time
    pieces = hear(air, payload)
    for name in ("mean", "spread", "power", "bias"):
        assert np.allclose(getattr(whole, name), getattr(pieces, name), rtol=1e-5, atol=1e-6)
    assert torch.allclose(exact(air, whole, Rng(6)), exact(air, pieces, Rng(6)), rtol=1e-4, atol=1e-5)


def test_odd_payloads_are_padded_and_blocks_packed_apart() -> None:
    assert [symbols(d) for d in (1, 2, 7, 7850)] == [1, 1, 4, 3925]
    both = torch.randn(6, 2, 7, generator=Rng(7).torch())
    alone = hear(random_air(Rng(8)), both[:, :1])
    padded = hear(random_air(Rng(8)), torch.nn.functional.pad(both[:, :1], (0, 1)))
    assert torch.allclose(alone.mean, padded.mean[:, :, :7])
    assert torch.allclose(alone.spread, padded.spread)
    silent = both.clone()
    silent[:, 0] = 0.0
    out = exact(replace(random_air(Rng(8)), noise=0.0), hear(random_air(Rng(8), noise=0.0), silent), Rng(9))
    assert float(out[:, 0].abs().max()) == 0.0
    assert float(out[:2, 1].abs().min()) > 0.0


def test_the_oracle_itself_with_one_antenna_by_hand() -> None:
    """(8)-(12) with the very channel that the generator gives: one sender, no noise, one antenna: |h|^2 x / beta."""
    air = Air(np.full((1, 1), 4.0), np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1), noise=0.0, antennas=1)
    payload = torch.tensor([[[3.0, -1.0]]])
    h = 2.0 * torch.randn(1, 1, 1, dtype=torch.complex64, generator=Rng(15).child("direct", 0).torch())
    expected = float(h.abs() ** 2) / 4.0 * payload
    assert torch.allclose(direct(air, payload, Rng(15)), expected, rtol=1e-5)
