"""A band for every sender: rates by hand, deadlines, erasures."""

import math

import pytest
import torch

from fedradio.core.contracts import Allocation, ChannelState, Reason
from fedradio.core.rng import Rng
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal

PARENT = torch.tensor([0, 1, 0, 1])


def alloc(power_w: float = 0.1, active: list[bool] | None = None) -> Allocation:
    on = torch.tensor(active or [True] * 4)
    power = torch.full((4,), power_w, dtype=torch.float64)
    return Allocation(on, torch.ones(4).long(), torch.full((4,), 1e9), power, torch.zeros(4).long())


def channel(gain: float = 1e-10) -> ChannelState:
    foreign = torch.full((2, 4), 1.0, dtype=torch.float64)  # foreign gains must not matter
    foreign[PARENT, torch.arange(4)] = gain
    return ChannelState(foreign, 4e-21)


def test_hand_computed_rate() -> None:
    """SNR = 1e-10 * 0.1 / (4e-21 * 540e3) = 4629.6; rate = 540e3 * log2(4630.6) = 6.5755e6 bit/s; 7,248,384 bits take
    1.1023 s and 0.11023 J."""
    airtime = digital().plan(channel(), alloc(), PARENT, 219_648, torch.zeros(4).double(), None, Rng(0))
    assert airtime.tx_s is not None
    expected = 7_248_384 / (540e3 * math.log2(1 + 1e-11 / 2.16e-15))
    assert expected == pytest.approx(1.1023, abs=1e-4)
    assert airtime.tx_s.tolist() == pytest.approx([expected] * 4, rel=1e-12)
    link = digital()
    payload = torch.ones(4, 1, 3)
    done = link.combine(payload, torch.ones(4), torch.arange(4), PARENT, 2, channel(), alloc(), airtime, Rng(0))
    assert done.tx_j is not None
    assert done.tx_j.tolist() == pytest.approx([0.1 * expected] * 4)


def test_infinite_power_is_ideal() -> None:
    ready = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    strong = digital().plan(channel(), alloc(math.inf), PARENT, 100, ready, 2.5, Rng(0))
    exact = ideal().plan(None, alloc(), PARENT, 100, ready, 2.5, Rng(0))
    assert torch.equal(strong.arrived, exact.arrived)
    assert torch.allclose(strong.done_s, exact.done_s)  # type: ignore[arg-type]
    assert strong.reason.tolist() == exact.reason.tolist()


def test_deadline_counts_computing_and_airtime() -> None:
    ready = torch.tensor([0.0, 1.0, 0.0, 0.0], dtype=torch.float64)
    airtime = digital().plan(channel(), alloc(active=[True, True, False, True]), PARENT, 219_648, ready, 2.0, Rng(0))
    assert airtime.arrived.tolist() == [True, False, False, True]
    assert airtime.reason.tolist() == [Reason.NONE, Reason.DEADLINE, Reason.NONE, Reason.NONE]
    assert airtime.tx_s is not None
    assert airtime.tx_s[2] == 0.0


def test_erasures_have_their_probability() -> None:
    link = digital(erasure=0.3)
    ready = torch.zeros(4).double()
    draws = torch.stack(
        [link.plan(channel(), alloc(), PARENT, 9, ready, None, Rng(seed)).arrived for seed in range(3000)]
    )
    assert float(draws.double().mean()) == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / 12_000))
    airtime = link.plan(channel(), alloc(), PARENT, 9, ready, None, Rng(0))
    assert airtime.expect.tolist() == pytest.approx([0.7] * 4)
    assert set(airtime.reason[~airtime.arrived].tolist()) <= {Reason.OUTAGE}


def test_seconds_are_unknown_without_a_clock() -> None:
    assert digital().plan(channel(), alloc(), PARENT, 9, None, None, Rng(0)).done_s is None
