"""The exact sampler against antennas, senders and channels simulated one by one; the closed forms against both.

Every test draws many copies of one symbol. Kolmogorov-Smirnov tests are held to ``P_LEAST`` over their number, sample
moments to ``SIGMAS`` standard deviations; where a relative error is asked for (``WITHIN``, 3 %), draws are enough to
make that more than five.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import gamma, ks_1samp, ks_2samp
from support.exchanges import everyone, exchange, realised, sent
from support.moments import moments
from torch import Tensor

from fedradio.core.contracts import ChannelState
from fedradio.core.rng import Rng
from fedradio.links.air import Air, direct, exact, hear
from fedradio.links.over_the_air import OverTheAir, over_the_air
from fedradio.network.clusters import clusters, without_edges
from fedradio.network.power_law import power_law
from fedradio.theory.whfl import aggregation_error, flat_error

DRAWS, MANY, WITHIN, SIGMAS, P_LEAST = 20_000, 100_000, 0.03, 4.5, 0.001
pytestmark = pytest.mark.wide

ANTENNAS = (1, 2, 100)
SIMULATED = {1: DRAWS, 2: DRAWS, 100: 6_000}
REGIMES = ("world", "noisy", "interfered", "opposed", "uneven", "alone")
VIEWS = ("real", "imaginary", "size")
TESTS = len(ANTENNAS) * len(REGIMES) * len(VIEWS)

Complex = NDArray[np.complex128]


def regime(name: str, antennas: int) -> tuple[Air, Tensor]:
    """A receiver with three own senders and two foreign ones (a second receiver's), and one symbol of each."""
    symbols = torch.tensor([1.0 + 0.5j, 0.8 - 0.2j, 1.3 + 0.1j, -0.7 + 1.0j, 0.4 + 0.4j], dtype=torch.complex128)
    gain = np.array([[1.0, 0.4, 2.5, 0.05, 0.02], [0.03, 0.01, 0.04, 1.0, 3.0]])
    air = Air(gain, np.array([0, 0, 0, 1, 1]), np.ones(5), np.ones(5), noise=0.3, antennas=antennas)
    if name == "noisy":
        air = replace(air, noise=30.0)
    if name == "interfered":
        air = replace(air, gain=np.where(air.own > 0, gain, 20 * gain))
    if name == "opposed":  # the mean almost cancels, interference inside the set is all there is
        symbols = torch.tensor([1.0, -2.5, 0.01, 1.0j, -1.0j], dtype=torch.complex128)
        air = replace(air, noise=0.0)
    if name == "uneven":
        step = np.arange(5.0)
        air = replace(air, amplitude=2 + step, factor=1 + 0.3 * step, sigma_h2=0.4, noise=20.0)
    if name == "alone":
        symbols = symbols[:1]
        first = np.ones(1)
        air = Air(gain[:1, :1], np.zeros(1, dtype=np.int64), first, first, noise=0.0, antennas=antennas)
    return air, symbols


def repeated(symbols: Tensor, draws: int = DRAWS) -> Tensor:
    """The payload ``[A, 1, 2 draws]`` that is nothing but copies of one symbol of each sender."""
    parts = torch.stack((symbols.real, symbols.imag), dim=1).float()
    return parts.repeat_interleave(draws, dim=1)[:, None]


def at(received: Tensor, receiver: int = 0) -> Complex:
    re, im = received[receiver, 0].double().view(2, -1).numpy()
    return np.asarray(re + 1j * im)


def both(name: str, antennas: int) -> tuple[Complex, Complex, complex, float]:
    """Draws of the sampler and of the simulation at the first receiver, and the closed form's mean and variance."""
    air, symbols = regime(name, antennas)
    payload, rng = repeated(symbols, SIMULATED[antennas]), Rng(1).child(name, antennas)
    heard = hear(air, payload)
    xbar = complex(at(heard.mean)[0])
    variance = (abs(xbar) ** 2 + float(heard.spread[0, 0, 0])) / antennas
    return at(exact(air, heard, rng)), at(direct(air, payload, rng)), xbar, variance


def seen(values: Complex, how: str) -> NDArray[np.float64]:
    return {"real": values.real, "imaginary": values.imag, "size": np.abs(values)}[how]


@pytest.mark.parametrize("antennas", ANTENNAS)
@pytest.mark.parametrize("name", REGIMES)
def test_the_sampler_is_exact(name: str, antennas: int) -> None:
    """Distribution, mean, variance and pseudo-variance of the draws, the simulation and the closed form."""
    drawn, simulated, xbar, variance = both(name, antennas)
    for how in VIEWS:
        assert ks_2samp(seen(drawn, how), seen(simulated, how)).pvalue > P_LEAST / TESTS
    for values in (drawn, simulated):
        centred = values - xbar
        assert abs(centred.mean()) < SIGMAS * math.sqrt(variance / len(values))
        spread = SIGMAS * np.std(np.abs(centred) ** 2) / math.sqrt(len(values))
        assert abs(np.mean(np.abs(centred) ** 2) - variance) < spread
        assert abs(np.mean(centred**2) - xbar**2 / antennas) < SIGMAS * np.std(centred**2) / math.sqrt(len(values))


@pytest.mark.parametrize("antennas", ANTENNAS)
def test_variance_within_three_percent(antennas: int) -> None:
    for name in REGIMES:
        air, symbols = regime(name, antennas)
        heard = hear(air, repeated(symbols, MANY))
        error = at(exact(air, heard, Rng(7).child(name, antennas)) - heard.mean)
        variance = (abs(at(heard.mean)[0]) ** 2 + float(heard.spread[0, 0, 0])) / antennas
        assert np.mean(np.abs(error) ** 2) == pytest.approx(variance, rel=WITHIN)


def test_a_gaussian_of_the_same_moments_is_found_out() -> None:
    """Mean, variance and pseudo-variance do not make the distribution: with one antenna the difference is plain."""
    _, simulated, xbar, variance = both("world", 1)
    g = Rng(2).numpy().standard_normal((2, DRAWS))
    turn = xbar / abs(xbar)  # in this direction the parts are uncorrelated
    along, across = math.sqrt((variance + abs(xbar) ** 2) / 2), math.sqrt((variance - abs(xbar) ** 2) / 2)
    gaussian = xbar + turn * (along * g[0] + 1j * across * g[1])
    assert np.mean(np.abs(gaussian - xbar) ** 2) == pytest.approx(variance, rel=WITHIN)
    assert abs(np.mean((gaussian - xbar) ** 2) - xbar**2) < WITHIN * variance
    for how in VIEWS:
        assert ks_2samp(seen(gaussian, how), seen(simulated, how)).pvalue < 1e-6


def test_one_sender_without_noise_is_a_gamma() -> None:
    for antennas in ANTENNAS:
        drawn, simulated, *_ = both("alone", antennas)
        for values in (drawn, simulated):
            ratio = (values / (1.0 + 0.5j)).real * antennas
            assert ks_1samp(ratio, gamma(antennas).cdf).pvalue > P_LEAST / 6


def test_symbols_receivers_and_parts_are_drawn_apart() -> None:
    """Nothing but noise, whose two parts are uncorrelated: neighbouring symbols, receivers and parts are too."""
    air, symbols = regime("noisy", 3)
    heard = hear(air, repeated(0 * symbols))
    parts = exact(air, heard, Rng(3)).view(2, 2, DRAWS)
    for one, other in ((parts[0], parts[1]), (parts[:, 0], parts[:, 1]), (parts[:, :, :-1], parts[:, :, 1:])):
        found = np.corrcoef(one.numpy().ravel(), other.numpy().ravel())[0, 1]
        assert abs(found) < SIGMAS / math.sqrt(one.numel())


@pytest.mark.parametrize(("normaliser", "slope"), [("mean", 1.0), ("sum", 0.2)])
def test_normalisation_slope(normaliser: str, slope: float) -> None:
    """Five equal gains, no noise: the estimate regressed on the true mean, to 1 %."""
    payload = torch.randn(5, 1, 2 * DRAWS, generator=Rng(4).torch())
    parent = torch.zeros(5).long()
    link = over_the_air(normaliser=normaliser)  # type: ignore[arg-type]
    channel = ChannelState(torch.full((1, 5), 0.3).double(), noise_symbol=0.0)
    total = _exchange(link, payload, parent, channel, 1.0, Rng(5))[0, 0]
    truth = payload.mean(dim=0)[0]
    assert float((total @ truth) / (truth @ truth)) == pytest.approx(slope, rel=0.01)


@pytest.mark.parametrize("layout", range(20))
def test_aggregation_error_of_two_hops(layout: int) -> None:
    """Two cluster iterations and the relay, through the links: mean squared error against the closed form, and flat."""
    draws, iterations, amplitude, noise = 40_000, 2, 1.5, 10.0
    g = Rng(6).child(layout)
    antennas, relays = (100, 100) if layout % 2 else (10, 20)
    topology = clusters(g, layout=layout)
    (parent, above), channel = topology.parents, power_law(noise_symbol=noise)
    near, far = realised(channel, topology), realised(channel, topology, hop=1)
    sent = 0.3 + torch.randn(iterations, 20, 2, generator=g.torch())  # one symbol of each client and iteration
    payload = sent.repeat_interleave(draws, dim=2)[:, :, None]
    link, relay = over_the_air(antennas=antennas), over_the_air(antennas=relays)
    hops = [_exchange(link, payload[i], parent, near, amplitude, g.child("air", i)) for i in range(iterations)]
    total = _exchange(relay, torch.stack(hops).sum(dim=0), above, far, 10 * amplitude, g.child("relay"))
    truth = payload.sum(dim=0).mean(dim=0)
    expected = aggregation_error(
        near.gain,
        parent,
        far.gain[0],
        moments(sent),
        amplitude=amplitude,
        edge_amplitude=10 * amplitude,
        noise=noise,
        antennas=antennas,
        edge_antennas=relays,
    )
    assert _error(total, truth) == pytest.approx(expected.total, rel=WITHIN)
    straight = realised(channel, without_edges(topology))
    once = _exchange(link, payload[0], torch.zeros(20).long(), straight, amplitude, g.child("flat"))
    flat = flat_error(straight.gain[0], moments(sent[:1]), amplitude, noise, antennas)
    assert _error(once, payload[0].mean(dim=0)) == pytest.approx(flat.total, rel=WITHIN)


def _exchange(
    link: OverTheAir, payload: Tensor, parent: Tensor, channel: ChannelState, amplitude: float, rng: Rng
) -> Tensor:
    """Everybody sends with equal weight; the receivers' means."""
    alloc = everyone(len(payload), amplitude=torch.full((len(payload),), amplitude, dtype=torch.float64))
    x = exchange(parent, channel=channel, alloc=alloc, message=payload.shape[2])
    weight = 1.0 / torch.bincount(parent)[parent].double()
    delivery, _ = link.combine(x, link.plan(x, {}, rng), sent(x, payload, weight), {}, rng)
    return delivery.total


def _error(found: Tensor, truth: Tensor) -> float:
    """Mean squared error per symbol."""
    return 2 * float((found[0].double() - truth.double()).square().mean())
