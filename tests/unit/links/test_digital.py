"""A band for every sender: rates by hand, deadlines, erasures."""

import math

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
