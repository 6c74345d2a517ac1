"""Dropout that follows the generator it is given."""

from __future__ import annotations

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.models.dropout import SeededDropout, set_generator


def test_dropout_follows_its_generator() -> None:
    layer = SeededDropout(0.25)
    x = torch.ones(200, 50)
    set_generator(layer, Rng(4).torch())
    first, second = layer(x), layer(x)
    assert not torch.equal(first, second)
    set_generator(layer, Rng(4).torch())
    assert torch.equal(first, layer(x))
    assert first.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert first.mean() == pytest.approx(1.0, abs=0.03)
    assert torch.equal(layer.eval()(x), x)


def test_dropout_of_everything_and_without_a_generator() -> None:
    layer = SeededDropout(1.0)
    with pytest.raises(RuntimeError, match="generator"):
        layer(torch.ones(3))
    set_generator(layer, Rng(4).torch())
    assert not layer(torch.ones(3)).any()


def test_dropout_does_not_see_the_memory_order() -> None:
    layer = SeededDropout(0.5)
    x = torch.ones(2, 3, 4, 5)
    set_generator(layer, Rng(4).torch())
    straight = layer(x)
    set_generator(layer, Rng(4).torch())
    assert torch.equal(straight, layer(x.contiguous(memory_format=torch.channels_last)))
