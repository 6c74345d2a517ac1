"""Stochastic quantisation: levels by hand, no bias, bounded variance, exact bits."""

import pytest
import torch
from support.coding import bits_of, packed, unpacked
from support.exchanges import everyone, exchange, sent

from fedradio.core.contracts import Message
from fedradio.core.rng import Rng
from fedradio.transforms.quantise import quantise, quantised


def test_levels_by_hand() -> None:
    """b = 3: levels 0, .5, 1, 1.5 of the largest number 1.5; .25 lies between two of them."""
    row = torch.tensor([[1.5, -1.0, 0.0, 0.25]])
    drawn = {tuple(quantised(row, 3, Rng(seed))[0].tolist()) for seed in range(40)}
    assert drawn == {(1.5, -1.0, 0.0, 0.0), (1.5, -1.0, 0.0, 0.5)}


def test_every_block_has_its_scale_and_zeros_stay() -> None:
    row = torch.tensor([[8.0, 4.0], [0.0, 0.0], [1e-3, -1e-3]])
    assert torch.equal(quantised(row, 1, Rng(0))[1], torch.zeros(2))
    assert quantised(row, 1, Rng(0))[2].tolist() == pytest.approx([1e-3, -1e-3])


@pytest.mark.parametrize("bits", [2, 3, 8, 24])
def test_unbiased_with_the_stated_variance(bits: int) -> None:
    """Mean of 400 draws within 5 standard errors for 99 % of the numbers whose variance is not 0."""
    v = torch.randn(1, 1000, generator=Rng(5).torch(), dtype=torch.float64)
    levels = 2 ** (bits - 1) - 1
    draws = torch.stack([quantised(v, levels, Rng(9).child(n)) for n in range(400)])[:, 0].double()
    step = float(v.abs().max()) / levels
    variance = draws.var(dim=0, correction=1)
    assert float(variance.max()) <= step**2 / 4 * 1.05
    moves = variance > 1e-6 * step**2
    assert int(moves.sum()) > 900
    z = (draws.mean(dim=0) - v[0].double())[moves] / (variance[moves] / 400).sqrt()
    assert float((z.abs() < 5).double().mean()) >= 0.99
    error = (draws - v[0].double()).square().sum(dim=1).mean()
    omega = quantise(bits=bits).omega(1000)
    assert omega is not None
    assert float(error) <= omega * float(v.double().square().sum())


def test_bits_are_those_of_a_packed_row() -> None:
    part = quantise(bits=5)
    message = part.message(Message(2, 37))
    assert (message.value_bits, message.side_bits, message.bits(32.0)) == (5.0, 64.0, 2 * 37 * 5 + 64)
    row = quantised(torch.randn(2, 37, generator=Rng(2).torch()), part.levels, Rng(0))
    text = packed(row, bits=5)
    assert len(text) == message.bits(32.0)
    assert torch.equal(unpacked(text, 2, 37, bits=5), row)
    assert bits_of(torch.zeros(2, 37), bits=5) == message.bits(32.0)


def test_a_client_draws_the_same_whoever_else_is_active() -> None:
    part, payload = quantise(bits=3), torch.randn(3, 1, 50, generator=Rng(4).torch())
    x = exchange((0, 0, 0), message=50)
    alone = exchange((0, 0, 0), message=50, alloc=everyone(3, active=[False, False, True]))
    both = part.encode(x, sent(x, payload), {}, Rng(1)).payload
    assert torch.equal(both[2:], part.encode(alone, sent(alone, payload[2:]), {}, Rng(1)).payload)


def test_a_shrunk_code_is_contractive() -> None:
    """Decoded over 1 + omega: 100 numbers at 3 bits have omega 100/36; E |Q - v|^2 <= (1 - 1/(1 + omega)) |v|^2."""
    part = quantise(bits=3, shrink=True)
    assert (part.omega(100), part.delta(100)) == (None, pytest.approx(36 / 136))
    v, x = torch.randn(1, 1, 100, generator=Rng(6).torch()), exchange((0,), message=100)
    coded = torch.stack([part.encode(x, sent(x, v), {}, Rng(n)).payload for n in range(200)])
    error = (coded - v).double().square().sum(dim=(1, 2, 3)).mean()
    assert float(error) <= (1 - 36 / 136) * float(v.double().square().sum())
