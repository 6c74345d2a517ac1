"""Payloads through the transforms of a hop, against steps done by hand."""

import torch
from support.exchanges import exchange, sent
from torch import Tensor

from fedradio.core.contracts import Coded, Delivery, Message, Sent, Slots, Transform, View
from fedradio.core.rng import Rng
from fedradio.rounds.payload import decode, encode, memories_of
from fedradio.transforms.clip import clip
from fedradio.transforms.feedback import ERROR, feedback
from fedradio.transforms.noise import noise
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import largest, random_k, top_k

D = 40
MESSAGE = Message(1, D)


def payload(seed: int = 1, senders: int = 3) -> torch.Tensor:
    return torch.randn(senders, 1, D, generator=Rng(seed).torch())


def test_without_transforms_payloads_are_what_is_heard() -> None:
    x = exchange((0, 0, 0), message=MESSAGE)
    given = sent(x, payload())
    encoded = encode((), MESSAGE, x, given.ids, given.payload, [], Rng(0))
    assert encoded.sent.payload is encoded.heard is given.payload
    assert encoded.sent.group.tolist() == [0, 0, 0]
    delivery = Delivery(torch.zeros(1, 1, D), None, None)
    assert decode((), MESSAGE, x, given, delivery, Rng(0)) is delivery


class Doubled(Transform):
    """Numbers travel as their doubles."""

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        return Coded(2.0 * sent.payload)

    def decode(self, x: View, sent: Sent, received: Tensor, rng: Rng) -> Tensor:
        return received / 2.0


class Raised(Transform):
    """Numbers travel as one more."""

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        return Coded(sent.payload + 1.0)

    def decode(self, x: View, sent: Sent, received: Tensor, rng: Rng) -> Tensor:
        return received - 1.0


def test_receivers_undo_the_last_transform_first() -> None:
    """3 is sent as ``2*3 + 1 = 7`` and decoded as ``(7 - 1)/2``, alone and in the sum; forwards it would be 2.5."""
    chain = (Doubled(), Raised())
    x = exchange((0,), message=1)
    encoded = encode(chain, Message(1, 1), x, torch.tensor([0]), torch.full((1, 1, 1), 3.0), [{}, {}], Rng(0))
    assert (float(encoded.sent.payload), float(encoded.heard)) == (7.0, 3.0)
    coded = encoded.sent.payload
    delivery = decode(chain, Message(1, 1), x, encoded.sent, Delivery(coded, coded, None), Rng(0))
    assert delivery.rows is not None
    assert (float(delivery.total), float(delivery.rows)) == (3.0, 3.0)


def test_what_is_heard_is_decoded_and_sums_are_the_sums_of_it() -> None:
    """Random places, then quantisation: the weighted sum of the coded rows decodes to that of the heard ones."""
    chain = (random_k(share=0.25), quantise(bits=6))
    x = exchange((0, 0, 0), message=MESSAGE)
    given = sent(x, payload(), torch.tensor([0.5, 0.25, 0.25]).double())
    encoded = encode(chain, MESSAGE, x, given.ids, given.payload, [{}, {}], Rng(7))
    assert encoded.sent.payload.shape == (3, 1, 10)
    assert encoded.heard.shape == (3, 1, D)
    total = (given.weight.float()[:, None, None] * encoded.sent.payload).sum(dim=0, keepdim=True)
    delivery = decode(chain, MESSAGE, x, encoded.sent, Delivery(total, encoded.sent.payload, None), Rng(7))
    expected = (given.weight.float()[:, None, None] * encoded.heard).sum(dim=0)
    assert torch.allclose(delivery.total[0], expected, atol=1e-6)
    assert delivery.rows is not None
    assert torch.equal(delivery.rows, encoded.heard)


def test_memory_sees_the_loss_of_everything_behind_it() -> None:
    """Feedback, top-k, quantisation: what is owed is the payload less what is heard, or all of it if it is lost."""
    chain: tuple[Transform, ...] = (feedback(), top_k(share=0.1), quantise(bits=3))
    x = exchange((0, 0, 0), message=MESSAGE)
    parts = {"hops.0.transforms.0": {ERROR: torch.zeros(3, 1, D)}}
    given = sent(x, payload())
    encoded = encode(chain, MESSAGE, x, given.ids, given.payload, memories_of(parts, 0, chain, given.ids), Rng(7))
    owed = encoded.kept(torch.tensor([True, True, False]))[0][ERROR]
    assert torch.allclose(owed[:2], (given.payload - encoded.heard)[:2])
    assert torch.allclose(owed[2], given.payload[2])
    assert int((encoded.heard != 0).sum(dim=2).max()) <= 4
    assert not torch.equal(encoded.heard, largest(given.payload, 4))  # the quantiser's error counts as well


def test_memory_sees_what_is_decoded_not_what_is_sent() -> None:
    """Feedback before 10 of 40 random places: those on the link are heard as 40, the rest is owed."""
    chain: tuple[Transform, ...] = (feedback(), random_k(share=0.25, scale=False))
    x = exchange((0, 0, 0), message=MESSAGE)
    parts = {"hops.0.transforms.0": {ERROR: torch.zeros(3, 1, D)}}
    given = sent(x, payload())
    encoded = encode(chain, MESSAGE, x, given.ids, given.payload, memories_of(parts, 0, chain, given.ids), Rng(7))
    owed = encoded.kept(torch.ones(3).bool())[0][ERROR]
    assert (owed == 0).sum(dim=2).flatten().tolist() == [10, 10, 10]
    assert torch.equal(owed + encoded.heard, given.payload)


def test_noise_of_the_receiver_is_in_the_sum_and_hides_single_payloads() -> None:
    chain = (clip(norm=1.0), noise(multiplier=1.0, at="receiver"))
    x = exchange((0, 0, 0), message=MESSAGE)
    given = sent(x, payload())
    encoded = encode(chain, MESSAGE, x, given.ids, given.payload, [{}, {}], Rng(7))
    assert torch.equal(encoded.heard, encoded.sent.payload)
    assert encoded.notes["clipped"].values.tolist() == [1.0, 1.0, 1.0]
    total = encoded.sent.payload.sum(dim=0, keepdim=True)
    delivery = decode(chain, MESSAGE, x, encoded.sent, Delivery(total, encoded.sent.payload, None), Rng(7))
    assert delivery.rows is None
    assert 0.5 < float((delivery.total - total).std()) < 1.5


class Short(Transform):
    """Payloads as they are, in so many bits for each sender."""

    def __init__(self, *bits: float) -> None:
        self.bits = bits

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        return Coded(sent.payload, bits=torch.tensor(self.bits) if self.bits else None)


def test_the_fewest_bits_that_a_transform_tells_are_sent() -> None:
    """Of 7 and 20 bits, and of 9 and 8: 7 and 8, in any order, and beside a transform that tells none."""
    x = exchange((0, 0), message=1)
    given = sent(x, torch.ones(2, 1, 1))
    for chain in ((Short(7, 20), Short(9, 8), Short()), (Short(), Short(9, 8), Short(7, 20))):
        encoded = encode(chain, Message(1, 1), x, given.ids, given.payload, [{}, {}, {}], Rng(0))
        assert encoded.bits is not None
        assert encoded.bits.tolist() == [7.0, 8.0]
    assert encode((Short(),), Message(1, 1), x, given.ids, given.payload, [{}], Rng(0)).bits is None
