"""A band for every sender: rates by hand, deadlines, erasures."""

import math
from dataclasses import replace

import pytest
import torch
from support.exchanges import everyone, exchange, sent

from fedradio.core.contracts import ChannelState, Exchange, Message, Reason
from fedradio.core.rng import Rng
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal

PARENT = torch.tensor([0, 1, 0, 1])


def channel(gain: float = 1e-10) -> ChannelState:
    foreign = torch.full((2, 4), 1.0, dtype=torch.float64)  # foreign gains must not matter
    foreign[PARENT, torch.arange(4)] = gain
    return ChannelState(foreign, 4e-21)


def slot(values: int, power_w: float = 0.1, active: list[bool] | None = None, **more: object) -> Exchange:
    alloc = everyone(4, active=active, power_w=power_w)
    return exchange(PARENT, channel=channel(), message=values, alloc=alloc, **more)  # type: ignore[arg-type]


def test_hand_computed_rate() -> None:
    """SNR = 1e-10 * 0.1 / (4e-21 * 540e3) = 4629.6; rate = 540e3 * log2(4630.6) = 6.5755e6 bit/s; 7,248,384 bits take
    1.1023 s and 0.11023 J."""
    link, x = digital(), slot(219_648, ready_s=[0.0] * 4)
    airtime = link.plan(x, {}, Rng(0))
    assert airtime.tx_s is not None
    expected = 7_248_384 / (540e3 * math.log2(1 + 1e-11 / 2.16e-15))
    assert expected == pytest.approx(1.1023, abs=1e-4)
    assert airtime.tx_s.tolist() == pytest.approx([expected] * 4, rel=1e-12)
    done, _ = link.combine(x, airtime, sent(x, torch.ones(4, 1, 3)), {}, Rng(0))
    assert done.tx_j is not None
    assert done.tx_j.tolist() == pytest.approx([0.1 * expected] * 4)


def test_policies_ask_for_rates() -> None:
    """The airtime of the case above at .1 W, and back; 3 payloads each take three times as long. The ideal link has no
    rates."""
    x = slot(219_648)
    assert x.rates is None
    x = replace(x, link=digital())
    assert x.rates is not None
    power_w = torch.full((4,), 0.1, dtype=torch.float64)
    seconds = x.rates.seconds(power_w)
    assert seconds.tolist() == pytest.approx([1.1023] * 4, abs=1e-4)
    assert x.rates.power_w(seconds).tolist() == pytest.approx(power_w.tolist(), rel=1e-12)
    three = replace(x, payloads=torch.full((4,), 3)).rates
    assert three is not None
    assert three.seconds(power_w).tolist() == pytest.approx((3 * seconds).tolist(), rel=1e-12)


def test_bits_are_those_of_the_message() -> None:
    """Two blocks of 10 numbers; 2 of each sent with 3 bits, and 7 bits beside them: 2 * 2 * 3 + 7."""
    assert digital(bits_per_value=33).bits(Message(2, 10)) == 660
    assert digital(bits_per_value=33).bits(Message(2, 10, sent=2, value_bits=3, side_bits=7)) == 19


def test_infinite_power_is_ideal() -> None:
    x = slot(100, math.inf, ready_s=[1.0, 2.0, 3.0, 4.0], deadline_s=2.5)
    strong, exact = digital().plan(x, {}, Rng(0)), ideal().plan(x, {}, Rng(0))
    assert torch.equal(strong.arrived, exact.arrived)
    assert torch.allclose(strong.done_s, exact.done_s)  # type: ignore[arg-type]
    assert strong.reason.tolist() == exact.reason.tolist()


def test_deadline_counts_computing_and_airtime() -> None:
    x = slot(219_648, active=[True, True, False, True], ready_s=[0.0, 1.0, 0.0, 0.0], deadline_s=2.0)
    airtime = digital().plan(x, {}, Rng(0))
    assert airtime.arrived.tolist() == [True, False, False, True]
    assert airtime.reason.tolist() == [Reason.NONE, Reason.DEADLINE, Reason.NONE, Reason.NONE]
    assert airtime.expect.tolist() == [1.0, 0.0, 1.0, 1.0]  # without fading there is no chance in it
    assert airtime.tx_s is not None
    assert airtime.tx_s[2] == 0.0


def test_erasures_have_their_probability() -> None:
    link, x = digital(erasure=0.3), slot(9, ready_s=[0.0] * 4)
    draws = torch.stack([link.plan(x, {}, Rng(seed)).arrived for seed in range(3000)])
    assert float(draws.double().mean()) == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / 12_000))
    airtime = link.plan(x, {}, Rng(0))
    assert airtime.expect.tolist() == pytest.approx([0.7] * 4)
    assert set(airtime.reason[~airtime.arrived].tolist()) <= {Reason.OUTAGE}


def test_seconds_are_unknown_without_a_clock() -> None:
    assert digital().plan(slot(9), {}, Rng(0)).done_s is None


def faded(power_w: float = 1e-4, power: float | None = None, antennas: int = 1, **more: object) -> Exchange:
    """Four senders under Rayleigh fading; ``power`` is the realised ``|h|^2`` of all, drawn without it."""
    if power is None:
        parts = torch.randn(2, 2, antennas, 4, generator=Rng(3).torch(), dtype=torch.float64)
        coefficient = torch.complex(parts[0], parts[1]) / math.sqrt(2)
    else:
        coefficient = torch.full((2, antennas, 4), math.sqrt(power), dtype=torch.complex128)
    state = replace(channel(), coefficient=coefficient, rayleigh=True)
    alloc = everyone(4, power_w=power_w)
    usual = {"ready_s": [0.0, 1.0, 2.0, 3.0], "deadline_s": 3.0} | more
    return exchange(PARENT, channel=state, message=219_648, alloc=alloc, **usual)  # type: ignore[arg-type]


def test_hand_computed_probability_to_be_in_time() -> None:
    """At 0.1 mW and |h|^2 = 1 the SNR is 4.6296. In 3 s 4.4743 bit/s/Hz are needed, an SNR of 21.228:
    p = exp(-21.228 / 4.6296) = .01020; with 0.1 W it is .99543. Whoever is ready at the deadline never arrives."""
    needed = 2 ** (7_248_384 / 540e3 / 3) - 1
    assert needed == pytest.approx(21.228, abs=1e-3)
    assert digital().plan(faded(), {}, Rng(0)).expect[0].item() == pytest.approx(0.0102, abs=1e-5)
    strong = digital(erasure=0.5).plan(faded(0.1), {}, Rng(0))
    assert strong.expect[0].item() == pytest.approx(0.5 * 0.99543, abs=1e-5)
    assert strong.expect[3].item() == 0.0
    assert not bool(strong.arrived[3])
    two = digital().plan(faded(0.01, antennas=2), {}, Rng(0)).expect[0].item()
    level = 2 * needed / 462.96
    assert two == pytest.approx((1 + level) * math.exp(-level), rel=1e-4)


def test_luck_decides_who_is_late_but_not_how_probable_it_was() -> None:
    """|h|^2 = .5 against 50, for senders that have 3, 2, 1 and 0 s left."""
    link = digital()
    weak, lucky = (link.plan(x, {}, Rng(0)) for x in (faded(0.01, 0.5), faded(0.01, 50.0)))
    assert weak.arrived.tolist() == [True, True, False, False]
    assert weak.reason.tolist() == [Reason.NONE, Reason.NONE, Reason.DEADLINE, Reason.DEADLINE]
    assert lucky.arrived.tolist() == [True, True, True, False]
    assert torch.equal(weak.expect, lucky.expect)  # the law, not the luck
    x = faded(0.01, 0.5)
    delivery, _ = link.combine(x, weak, sent(x, torch.ones(4, 1, 3)), {}, Rng(0))
    assert delivery.notes["p_sc"].values.tolist() == weak.expect.tolist()


def test_arrivals_match_their_probability() -> None:
    """20,000 draws at once, each a sender of its own."""
    draws = 20_000
    ready_s = torch.tensor([0.0, 1.0, 2.0, 3.0]).repeat(draws)
    parts = torch.randn(2, 1, 1, 4 * draws, generator=Rng(5).torch(), dtype=torch.float64)
    gain = torch.full((1, 4 * draws), 1e-10, dtype=torch.float64)
    state = ChannelState(gain, 4e-21, coefficient=torch.complex(parts[0], parts[1]) / math.sqrt(2), rayleigh=True)
    x = exchange(
        torch.zeros(4 * draws, dtype=torch.long),
        channel=state,
        message=219_648,
        alloc=everyone(4 * draws, power_w=0.001),
        ready_s=ready_s,
        deadline_s=3.0,
    )
    airtime = digital().plan(x, {}, Rng(0))
    share, probability = airtime.arrived.view(draws, 4).double().mean(dim=0), airtime.expect[:4]
    assert 0.1 < float(probability[1]) < 0.9
    assert bool(((share - probability).abs() <= 4 * (probability * (1 - probability) / draws).sqrt()).all())


def test_without_fading_nothing_is_noted() -> None:
    x = slot(9, ready_s=[0.0] * 4, deadline_s=2.0)
    airtime = digital().plan(x, {}, Rng(0))
    assert airtime.expect.tolist() == [1.0] * 4
    assert digital().combine(x, airtime, sent(x, torch.ones(4, 1, 3)), {}, Rng(0))[0].notes == {}
