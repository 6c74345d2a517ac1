"""Clipping, by hand."""

import pytest
import torch
from support.exchanges import exchange, sent

from fedradio.core.contracts import Message
from fedradio.core.rng import Rng
from fedradio.transforms.clip import clip


def test_longer_payloads_are_shortened_all_blocks_together() -> None:
    """(3, 4) in two blocks has norm 5; (0.6, 0.8) is as long as 1 and stays; zeros stay zeros."""
    x = exchange((0, 0, 0), message=Message(2, 1))
    payload = torch.tensor([[[3.0], [4.0]], [[0.6], [0.8]], [[0.0], [0.0]]])
    coded = clip(norm=2.5).encode(x, sent(x, payload), {}, Rng(0))
    assert coded.payload.flatten().tolist() == pytest.approx([1.5, 2.0, 0.6, 0.8, 0.0, 0.0])
    assert coded.notes["clipped"].values.tolist() == [1.0, 0.0, 0.0]
    assert torch.equal(coded.payload[1:], payload[1:])


def test_no_payload_is_longer_than_the_norm() -> None:
    x = exchange((0,) * 50, message=200)
    payload = torch.randn(50, 1, 200, generator=Rng(1).torch()) * torch.logspace(-3, 3, 50)[:, None, None]
    norms = clip(norm=0.5).encode(x, sent(x, payload), {}, Rng(0)).payload.double().flatten(1).norm(dim=1)
    assert float(norms.max()) <= 0.5 * (1 + 1e-6)


def test_the_message_says_how_long_it_is_at_most() -> None:
    assert clip(norm=2.0).message(Message(2, 10)) == Message(2, 10, norm=2.0)
