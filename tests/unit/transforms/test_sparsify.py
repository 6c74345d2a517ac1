"""Sparsification: places by hand, exact bits, no bias where it is promised."""

import pytest
import torch
from support.coding import packed, unpacked
from support.exchanges import exchange, sent

from fedradio.core.contracts import Message
from fedradio.core.rng import Rng
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import kept_numbers, largest, random_k, top_k


def test_the_largest_by_hand() -> None:
    payload = torch.tensor([[[1.0, -3.0, 2.0, 3.0]], [[2.0, 1.0, -2.0, 2.0]], [[0.0, 0.0, 0.0, 0.0]]])
    assert largest(payload, 2).tolist() == [[[0, -3, 0, 3]], [[2, 0, -2, 0]], [[0, 0, 0, 0]]]
    assert largest(payload, 1).tolist() == [[[0, -3, 0, 0]], [[2, 0, 0, 0]], [[0, 0, 0, 0]]]
    assert torch.equal(largest(payload, 4), payload)


@pytest.mark.parametrize(("share", "size", "number"), [(0.05, 4810, 241), (0.1, 30, 3), (0.2, 10, 2), (1e-6, 9, 1)])
def test_how_many_are_kept(share: float, size: int, number: int) -> None:
    assert kept_numbers(share, size) == number


@pytest.mark.parametrize(("size", "number", "places"), [(4810, 241, 241 * 13), (1000, 500, 1000), (1, 1, 1), (2, 1, 1)])
def test_places_are_numbers_or_a_bitmap(size: int, number: int, places: int) -> None:
    message = top_k(share=number / size).message(Message(1, size))
    assert (message.sent, message.side_bits, message.values) == (number, places, number)


@pytest.mark.parametrize("order", ["top_k first", "quantise first"])
def test_bits_of_both_orders_are_those_of_a_packed_row(order: str) -> None:
    """Two blocks of 100, the largest 7 at 6 bits: 2 (7 * 6 + 7 * 7 + 32) bits."""
    parts = [top_k(share=0.07), quantise(bits=6)]
    parts = parts if order == "top_k first" else parts[::-1]
    message, payload = Message(2, 100), torch.randn(1, 2, 100, generator=Rng(3).torch())
    for place, part in enumerate(parts):
        x = exchange((0,), message=message)
        payload = part.encode(x, sent(x, payload), {}, Rng(0).child(place)).payload
        message = part.message(message)
    assert message.bits(33.0) == 2 * (7 * 6 + 7 * 7 + 32)
    text = packed(payload[0], bits=6, number=7)
    assert len(text) == message.bits(33.0)
    assert torch.equal(unpacked(text, 2, 100, bits=6, number=7), payload[0])


def test_top_k_is_contractive() -> None:
    v = torch.randn(1, 1, 500, generator=Rng(8).torch())
    delta = top_k(share=0.05).delta(500)
    assert delta == 25 / 500
    assert float((largest(v, 25) - v).square().sum()) <= (1 - delta) * float(v.square().sum())


def test_random_places_are_common_and_sums_are_decoded_like_rows() -> None:
    part, x = random_k(share=0.3), exchange((0, 0), message=Message(2, 10))
    payload = torch.randn(2, 2, 10, generator=Rng(7).torch())
    coded = part.encode(x, sent(x, payload), {}, Rng(5)).payload
    assert coded.shape == (2, 2, 3)
    heard = part.decode(x, sent(x, coded), coded, Rng(5))
    assert torch.equal(heard[0] != 0, heard[1] != 0)
    kept = heard != 0
    assert torch.allclose(heard[kept], payload[kept] * 10 / 3)
    total = part.decode(x, sent(x, coded), coded.sum(dim=0, keepdim=True), Rng(5))
    assert torch.allclose(total[0], heard.sum(dim=0), atol=1e-6)
    assert part.message(Message(2, 10)) == Message(2, 3)


def test_scaled_random_places_are_unbiased() -> None:
    part, x = random_k(share=0.2), exchange((0,), message=20)
    v = torch.randn(1, 1, 20, generator=Rng(7).torch())
    draws = [part.decode(x, sent(x, v), part.encode(x, sent(x, v), {}, Rng(n)).payload, Rng(n)) for n in range(3000)]
    heard = torch.stack(draws)[:, 0, 0].double()
    z = (heard.mean(dim=0) - v[0, 0].double()) / (heard.var(dim=0) / 3000).sqrt()
    assert float(z.abs().max()) < 4.5
    error = float((heard - v[0, 0].double()).square().sum(dim=1).mean() / v.double().square().sum())
    assert error == pytest.approx(part.omega(20), rel=0.05)
    assert random_k(share=0.2, scale=False).omega(20) is None
    assert random_k(share=0.2, scale=False).delta(20) == 0.2
