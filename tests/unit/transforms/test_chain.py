"""Chains of transforms: messages between them, damping."""

import pytest

from fedradio.core.contracts import Message
from fedradio.transforms.chain import damping, lossy, messages
from fedradio.transforms.clip import clip
from fedradio.transforms.feedback import feedback
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import random_k, top_k


def test_every_transform_sees_what_is_before_it() -> None:
    """Of 100 numbers the top 5, with 5 * 7 bits for their places, at 4 bits each and 32 for the scale."""
    chain = messages((clip(norm=2.0), top_k(share=0.05), quantise(bits=4)), Message(1, 100))
    assert [message.norm for message in chain] == [None, 2.0, 2.0, None]
    assert [message.sent for message in chain] == [None, None, 5, 5]
    assert [message.bits(32.0) for message in chain] == [3200, 3200, 5 * 32 + 35, 5 * 4 + 35 + 32]


def test_unbiased_coders_damp_what_both_sides_accumulate() -> None:
    """3 bits: s = 3, omega = n/36 of the n numbers it codes; a fifth of the numbers at random: omega = 4."""
    message = Message(1, 72)
    assert damping((), message) == 1.0
    assert damping((feedback(), top_k(share=0.5)), message) == 1.0
    assert damping((quantise(bits=3),), message) == pytest.approx(1 / 3)
    assert damping((top_k(share=0.5), quantise(bits=3)), message) == pytest.approx(1 / 2)
    assert damping((random_k(share=0.25),), message) == pytest.approx(1 / 4)
    assert damping((random_k(share=0.25), quantise(bits=3)), message) == pytest.approx(1 / 4 / (1 + 18 / 36))


def test_error_feedback_alone_loses_nothing() -> None:
    assert not lossy((feedback(),))
    assert lossy((feedback(), top_k()))
    assert not lossy(())
