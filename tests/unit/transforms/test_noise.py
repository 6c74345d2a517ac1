"""Noise at the sender and at the receiver: deviations by hand, and who draws what."""

import pytest
import torch
from support.exchanges import everyone, exchange, sent

from fedradio.core.contracts import Message
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.transforms.noise import noise

CLIPPED = Message(1, 40_000, norm=0.5)


def test_noise_of_a_client_is_in_units_of_the_norm() -> None:
    """z = 2 and C = .5: a deviation of 1 of every number, whatever its weight."""
    x = exchange((0, 0), message=CLIPPED)
    coded = noise(multiplier=2.0, at="client").encode(x, sent(x, torch.zeros(2, 1, 40_000)), {}, Rng(3))
    assert coded.payload.std(dim=2).flatten().tolist() == pytest.approx([1.0, 1.0], rel=0.02)
    assert abs(float(coded.payload.mean())) < 0.02
    assert not torch.equal(coded.payload[0], coded.payload[1])


def test_noise_of_a_receiver_covers_its_largest_weight() -> None:
    """Four senders of weight 1/4 to receiver 0: 2 * .5/4 = .25. One of 1/2 to receiver 1: .5. Nobody to receiver 2."""
    x = exchange((0, 0, 0, 0, 1), message=CLIPPED, receivers=3)
    weight = torch.tensor([0.25, 0.25, 0.25, 0.25, 0.5], dtype=torch.float64)
    payload = sent(x, torch.zeros(5, 1, 40_000), weight)
    part = noise(multiplier=2.0, at="receiver")
    assert torch.equal(part.encode(x, payload, {}, Rng(3)).payload, payload.payload)
    total = part.decode(x, payload, torch.zeros(3, 1, 40_000), Rng(3))
    assert total.std(dim=2).flatten().tolist() == pytest.approx([0.25, 0.5, 0.0], rel=0.02)
    assert part.conceals
    assert not noise(multiplier=2.0, at="client").conceals


def test_a_client_draws_the_same_whoever_else_is_active() -> None:
    part = noise(multiplier=1.0, at="client")
    x = exchange((0, 0, 0), message=Message(1, 5, norm=1.0))
    alone = exchange((0, 0, 0), message=Message(1, 5, norm=1.0), alloc=everyone(3, active=[False, True, False]))
    both = part.encode(x, sent(x, torch.zeros(3, 1, 5)), {}, Rng(3)).payload
    one = part.encode(alone, sent(alone, torch.zeros(1, 1, 5)), {}, Rng(3)).payload
    assert torch.equal(both[1], one[0])


def test_without_a_norm_noise_is_refused() -> None:
    with pytest.raises(SpecError, match=r"put \{kind: clip"):
        noise(multiplier=1.0).message(Message(1, 5))


def test_a_payload_with_its_senders_noise_has_no_largest_norm() -> None:
    assert noise(multiplier=1.0, at="client").message(CLIPPED).norm is None
    assert noise(multiplier=1.0, at="receiver").message(CLIPPED).norm == 0.5
