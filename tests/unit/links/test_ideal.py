import torch
from support.exchanges import exchange, sent

from fedradio.core.contracts import Message, Reason
from fedradio.core.rng import Rng
from fedradio.links.ideal import ideal, weighted_total

PARENT = torch.tensor([0, 1, 0, 1])


def test_hand_computed_weighted_sum() -> None:
    """Receiver 0 hears senders 0 and 2: .25*[1, 2] + .75*[3, 4] = [2.5, 3.5]."""
    payload = torch.tensor([[[1.0, 2.0]], [[10.0, 20.0]], [[3.0, 4.0]], [[30.0, 40.0]]])
    weight = torch.tensor([0.25, 1.0, 0.75, 0.0])
    total = weighted_total(payload, weight, PARENT, 2)
    assert total.tolist() == [[[2.5, 3.5]], [[10.0, 20.0]]]


def test_equals_a_plain_loop_for_several_blocks() -> None:
    generator = torch.Generator().manual_seed(1)
    payload = torch.randn(7, 3, 11, generator=generator, dtype=torch.float64)
    weight = torch.rand(7, generator=generator, dtype=torch.float64)
    parent = torch.tensor([0, 2, 2, 0, 0, 2, 0])
    expected = torch.zeros(3, 3, 11, dtype=torch.float64)
    for i in range(7):
        expected[parent[i]] += weight[i] * payload[i]
    assert torch.allclose(weighted_total(payload, weight, parent, 3), expected, rtol=1e-13)
    assert torch.equal(weighted_total(payload, weight, parent, 3)[1], torch.zeros(3, 11, dtype=torch.float64))


def test_late_payloads_do_not_count() -> None:
    airtime = ideal().plan(exchange(PARENT, ready_s=[1.0, 2.0, 3.0, 4.0], deadline_s=2.5), {}, Rng(0))
    assert airtime.arrived.tolist() == [True, True, False, False]
    assert airtime.expect.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert airtime.reason.tolist() == [Reason.NONE, Reason.NONE, Reason.DEADLINE, Reason.DEADLINE]


def test_unknown_readiness_stays_unknown() -> None:
    airtime = ideal().plan(exchange(PARENT), {}, Rng(0))
    assert airtime.done_s is None
    assert bool(airtime.arrived.all())


def test_bits_and_free_energy() -> None:
    link, x = ideal(bits_per_value=33), exchange(PARENT, message=2)
    assert link.bits(Message(1, 219_648)) == 7_248_384
    payload = torch.ones(4, 1, 2)
    delivery, _ = link.combine(x, link.plan(x, {}, Rng(0)), sent(x, payload), {}, Rng(0))
    assert delivery.tx_j is not None
    assert delivery.tx_j.tolist() == [0.0] * 4
    assert delivery.rows is payload
