"""OSAFL: scores of similarity, by hand (Algorithm 2)."""

from dataclasses import replace

import pytest
import torch
from support.receiver import Receiver, cohort, vector
from support.worlds import after, tiny

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.ledger import published_names
from fedradio.algorithms.osafl import Constants, Osafl, afa_cd, exact_factor, osafl, scores
from fedradio.core.contracts import Trained, Work
from fedradio.core.errors import SpecError
from fedradio.engine.rules import sgd
from fedradio.engine.schedules import linear
from fedradio.theory import osafl as theory


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
    assert published_names(osafl()) == {"staleness", "weight", "score"}
    assert fedavg().needs == frozenset()
    assert fedprox(buffer="models").needs == {"individual"}


def test_the_literal_buffer_blows_up_at_a_high_rate() -> None:
    """Three of four clients never come: 35 times three quarters of the literal -w multiplies the model by -25.25."""
    server = Receiver(osafl(server_lr=35.0, never_seen="literal"), vector(1.0), 4)
    assert server.get({0: vector(0.0)}).item() == pytest.approx(-25.25)
    assert server.get({}).item() == pytest.approx(25.25**2)


def test_the_literal_start_of_afa_cd_shrinks_the_model() -> None:
    """f = 3/4 of four clients have never come, eta/eta_L = 2: a round multiplies w by 1 - 2 * .75 = -.5.

    Client 0 brings the mean update 1 each time: 2 * 1/4 = .5 is added. From w = 8: -4 + .5 = -3.5, then 1.75 + .5 =
    2.25; when client 1 comes too, with 1, f is 1/2 and the factor 0: only 2 * (1 + 1)/4 = 1 is left.
    """
    server = Receiver(afa_cd(server_lr=2.0, never_seen="literal"), vector(8.0), 4)
    assert server.get({0: vector(1.0)}).item() == pytest.approx(-3.5)
    assert server.get({0: vector(1.0)}).item() == pytest.approx(2.25)
    assert server.get({1: vector(1.0)}).item() == pytest.approx(1.0)
    zero = Receiver(afa_cd(server_lr=2.0), vector(8.0), 4)
    assert zero.get({0: vector(1.0)}).item() == pytest.approx(8.5)  # started at zero, nothing pulls


def test_mean_updates_over_updates_or_steps() -> None:
    """A change of 30 after 2 local steps of 5 updates: 3 an update, 15 a step as (16) prints it."""
    steps = torch.tensor([2])
    work = Work(steps, 5 * steps, (5 * steps).double(), steps * 0.1)
    for algorithm, sent in ((osafl(), 3.0), (osafl(normalise="steps"), 15.0), (afa_cd(normalise="steps"), 15.0)):
        trained = Trained(torch.tensor([[30.0]]), None, torch.zeros(1), {})
        assert algorithm.upload(cohort({}, {}, torch.zeros(1).long()), trained, work).item() == sent


def test_without_scores_it_is_afa_cd() -> None:
    rows = torch.randn(4, 9, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    a, b = (Receiver(algorithm, rows[0], 4) for algorithm in (osafl(score="none"), afa_cd()))
    for present in ([0, 1, 3], [2], []):
        changes = {client: rows[client] for client in present}
        assert torch.equal(a.get(changes), b.get(changes))
    assert a.signals["score"].tolist() == [1.0] * 4


def test_exact_scores_by_hand() -> None:
    """The case of the docstring: C = .08 + .64, the factor .72/1.22; a larger server rate makes it smaller."""
    alpha, kappa, rate = vector(0.5), vector(2.0), vector(0.1)
    assert exact_factor(alpha, kappa, rate, 10.0, Constants()).item() == pytest.approx(0.72 / 1.22)
    assert exact_factor(alpha, kappa, rate, 20.0, Constants()).item() == pytest.approx(0.72 / 1.72)
    no_noise = Constants(variance=0.0)
    assert exact_factor(alpha, kappa, rate, 10.0, no_noise).item() == 1.0  # full gradients: the similarity itself


def test_exact_scores_at_rate_0_are_limits() -> None:
    """C is of the order of the squared rate, the other term of the rate: the factor goes to 0, without variance it
    is 1. A rate that ends at 0 leaves the model as it is."""
    half, two, rates = vector(0.5, 0.5), vector(2.0, 2.0), vector(0.0, 1e-9)
    assert exact_factor(half, two, rates, 10.0, Constants()).tolist() == pytest.approx([0.0, 1.44e-8])
    assert exact_factor(half, two, rates, 10.0, Constants(variance=0.0)).tolist() == [1.0, 1.0]
    rule = replace(sgd(lr=0.1, batch=16), schedule=linear(rounds=2, last=0.0))
    sim = tiny(algorithm=osafl(score="exact"), rule=rule)
    third, fourth = after(sim, 3), after(sim, 4)
    assert torch.equal(third.memory.shared["w"], fourth.memory.shared["w"])
    assert fourth.signals["score"].tolist() == [0.0] * 6


def test_exact_scores_are_those_of_the_theory() -> None:
    """Brute force on random clients: (34) of the theorem's library, with every constant at work."""
    draw = torch.Generator().manual_seed(6)
    alpha = torch.rand(7, generator=draw, dtype=torch.float64)
    alpha /= alpha.sum()
    kappa = torch.randint(1, 6, (7,), generator=draw).double()
    ones = torch.ones(1, 7, dtype=torch.float64)
    rounds = theory.Rounds(alpha, kappa[None], ones, ones, 0.3 * ones, 0.7 * ones)
    expected = theory.coefficient_34(rounds, theory.Constants(2.0, 1.5, 1.2, 0.4), 0.05, 12.0)[0]
    own = Constants(smoothness=2.0, variance=1.5, shift=0.3, divergence=0.4 * 0.7, rho_1=1.2)
    assert torch.allclose(exact_factor(alpha, kappa, torch.full_like(alpha, 0.05), 12.0, own), expected, rtol=1e-12)


def test_exact_scores_in_a_round() -> None:
    """Six clients, two steps each: every score is the similarity times one factor, and steps are revealed for it."""
    exact = osafl(score="exact", server_lr=10.0, smoothness=3.0)
    assert exact.reveals == {"steps", "updates", "rate"}
    rule = sgd(lr=0.1, batch=16, updates_per_step=2)
    plain, found = (after(tiny(algorithm=a, rule=rule), 1) for a in (osafl(server_lr=10.0), exact))
    assert found.memory.ledger["kappa"].tolist() == [3.0] * 6
    assert found.memory.ledger["rate"].tolist() == pytest.approx([0.1] * 6)
    sixth = torch.full((6,), 1 / 6, dtype=torch.float64)
    factor = exact_factor(sixth, 3 * torch.ones(6), 0.1 * torch.ones(6), 10.0, Constants(smoothness=3.0))
    assert torch.allclose(found.signals["score"], plain.signals["score"] * factor)


def test_constants_without_exact_scores_are_refused() -> None:
    with pytest.raises(SpecError, match="exact score only"):
        osafl(smoothness=2.0)
    assert isinstance(osafl(score="exact", smoothness=2.0), Osafl)
