"""OSAFL: scores of similarity, by hand (Algorithm 2)."""

import pytest
import torch
from support.receiver import Receiver, cohort, vector

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.osafl import afa_cd, osafl, scores
from fedradio.core.contracts import Trained, Work


def test_scores_by_hand() -> None:
    """Updates (1, 0) and (0, 1): both score (1 + 1/sqrt 2)/2; a zero row has cosine 0."""
    sent = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    parent = torch.tensor([0, 0])
    assert scores(sent, parent, 1, 1.0).tolist() == pytest.approx([(1 + 0.5**0.5) / 2] * 2)
    assert scores(sent, parent, 1, 3.0).tolist() == pytest.approx([(3 + 0.5**0.5) / 4] * 2)
    assert scores(torch.zeros_like(sent), parent, 1, 1.0).tolist() == [0.5, 0.5]


def test_opposite_to_the_mean_counts_nothing() -> None:
    """Updates 3, 3, -1: the mean points up, the third cosine is -1 and its weight 0 at chi = 1."""
    server = Receiver(osafl(server_lr=1.0), vector(0.0), 3)
    assert server.get({0: vector(3.0), 1: vector(3.0), 2: vector(-1.0)}).item() == pytest.approx(2.0)
    assert server.signals["score"].tolist() == pytest.approx([1.0, 1.0, 0.0])


def test_scores_of_one_are_the_plain_mean() -> None:
    """Equal updates score 1: the step is eta_g eta mean(d_u), as AFA-CD's; and so for any updates as chi grows."""
    rows = torch.randn(4, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    same = dict.fromkeys(range(4), rows[0])
    moved = Receiver(osafl(server_lr=7.0), torch.zeros(9, dtype=torch.float64), 4).get(same)
    assert torch.allclose(moved, 7.0 * rows[0], atol=1e-12)
    each = {client: rows[client] for client in range(4)}
    wide = Receiver(osafl(server_lr=7.0, chi=1e6), torch.zeros(9, dtype=torch.float64), 4).get(each)
    plain = Receiver(afa_cd(server_lr=7.0), torch.zeros(9, dtype=torch.float64), 4).get(each)
    assert torch.allclose(plain, 7.0 * rows.mean(dim=0), atol=1e-12)
    assert torch.allclose(wide, plain, atol=1e-5)


def test_relabelling_clients_changes_nothing() -> None:
    rows = torch.randn(4, 9, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    order = [2, 0, 3, 1]
    a, b = (Receiver(osafl(), torch.ones(9, dtype=torch.float64), 4) for _ in range(2))
    for present in ([0, 1, 2, 3], [1, 3]):
        one = a.get({client: rows[client] for client in present})
        other = b.get({order[client]: rows[client] for client in present})
        assert torch.allclose(one, other, atol=1e-12)


def test_scores_lie_between_0_and_1() -> None:
    generator = torch.Generator().manual_seed(3)
    for chi in (1.0, 2.0):
        for _ in range(50):
            found = scores(torch.randn(6, 3, generator=generator), torch.tensor([0, 0, 0, 1, 1, 1]), 2, chi)
            assert bool(((found >= 0) & (found <= 1)).all())


def test_clients_send_their_mean_update() -> None:
    """Changes of 6 over 3 updates and 4 over 1: 2 and 4, written over the changes."""
    delta = torch.tensor([[6.0], [4.0]])
    count = torch.tensor([3, 1])
    work = Work(count, count, count.double(), count * 0.1)
    trained = Trained(delta, None, torch.zeros(2), {})
    sent = osafl().upload(cohort({}, {}, torch.zeros(2).long()), trained, work)
    assert sent.flatten().tolist() == [2.0, 4.0]
    assert sent.data_ptr() == delta.data_ptr()  # a cohort of 100 models has no second copy


def test_what_receivers_may_know() -> None:
    assert osafl().reveals == frozenset()
    assert osafl().needs == {"individual"}
    assert osafl().publishes == {"staleness", "weight", "score"}
    assert fedavg().needs == frozenset()
    assert fedprox(buffer="models").needs == {"individual"}


def test_the_literal_buffer_blows_up_at_a_high_rate() -> None:
    """Three of four clients never come: 35 times three quarters of the literal -w multiplies the model by -25.25."""
    server = Receiver(osafl(server_lr=35.0, never_seen="literal"), vector(1.0), 4)
    assert server.get({0: vector(0.0)}).item() == pytest.approx(-25.25)
    assert server.get({}).item() == pytest.approx(25.25**2)
