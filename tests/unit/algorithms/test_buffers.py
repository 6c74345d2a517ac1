"""Contribution buffers and scores, by hand (OSAFL, Algorithms 2 and 6-10)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg, fedavg, fedprox
from fedradio.algorithms.feddisco import discrepancy, feddisco
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.osafl import afa_cd, osafl, scores
from fedradio.core.contracts import Delivery, Info, Memory, Slots, Trained, Work
from fedradio.core.errors import SpecError
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

COUNTS = torch.tensor([[4, 0], [2, 2], [0, 4], [1, 3]])


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


class Receiver:
    """Feeds changes of single clients to an algorithm, exchange after exchange."""

    def __init__(self, algorithm: FedAvg, w: Tensor, clients: int, parent: list[int] | None = None) -> None:
        self.algorithm = algorithm
        self.parent = torch.tensor(parent or [0] * clients)
        self.receivers = int(self.parent.max()) + 1
        memory: Memory = algorithm.init(w, clients)
        self.shared: Slots = {name: v.repeat(self.receivers, 1) for name, v in memory.shared.items()}
        self.ledger = memory.ledger
        self.signals: Slots = {}

    def get(self, changes: dict[int, Tensor], steps: dict[int, float] | None = None) -> Tensor:
        """The model after these clients' payloads; ``steps``: their effective local steps."""
        ids = torch.tensor(list(changes), dtype=torch.long)
        size = self.shared["w"].shape[1]
        rows = torch.stack(list(changes.values())) if changes else torch.zeros(0, size, dtype=torch.float64)
        announced = {
            "samples": torch.tensor([10, 30, 20, 40])[: len(self.parent)],
            "label_counts": COUNTS[: len(self.parent)],
        }
        known = {name: values[ids] for name, values in announced.items()}
        known["effective"] = vector(*(steps or dict.fromkeys(changes, 1.0)).values())
        here = torch.ones(len(ids), dtype=torch.bool)
        group = self.parent[ids]
        info = Info(ids, group, self.receivers, self.parent, here, here.double(), known, announced)
        total = torch.zeros(self.receivers, 1, size, dtype=torch.float64)
        weight = self.algorithm.weights(self.ledger, info)
        total.index_add_(0, group, (weight.unsqueeze(1) * rows).unsqueeze(1))
        delivery = Delivery(total, rows.unsqueeze(1), None)
        self.shared, self.ledger, self.signals = self.algorithm.merge(self.shared, self.ledger, delivery, info)
        return self.shared["w"][0]


def test_two_kinds_of_memory_by_hand() -> None:
    """The case of the module's docstring: 3, then 5.5 with gradients and 4 with models."""
    memories = (fedavg(weighting="equal", buffer="gradients"), 5.5), (fedavg(weighting="equal", buffer="models"), 4.0)
    for algorithm, second in memories:
        server = Receiver(algorithm, vector(0.0), 2)
        assert server.get({0: vector(2.0), 1: vector(4.0)}).item() == 3.0
        assert server.get({0: vector(1.0)}).item() == second
        assert server.signals["staleness"].tolist() == [0.0, 1.0]


def test_models_pull_back_and_gradients_repeat_when_nobody_comes() -> None:
    repeats = Receiver(fedavg(weighting="equal", buffer="gradients"), vector(0.0), 2)
    pulls = Receiver(fedavg(weighting="equal", buffer="models"), vector(0.0), 2)
    for server in (repeats, pulls):
        server.get({0: vector(2.0), 1: vector(4.0)})
    assert [repeats.get({}).item() for _ in range(2)] == [6.0, 9.0]
    assert [pulls.get({}).item() for _ in range(2)] == [3.0, 3.0]


def test_a_client_that_was_never_seen_contributes_nothing() -> None:
    """Half of the mean is empty: w = 10 moves by 2/2, in both kinds."""
    for buffer in ("gradients", "models"):
        server = Receiver(fedavg(weighting="equal", buffer=buffer), vector(10.0), 2)
        assert server.get({0: vector(2.0)}).item() == 11.0
        assert server.signals["staleness"].tolist() == [0.0, -1.0]


def test_the_literal_contribution_pulls_to_zero() -> None:
    """d_u = w/eta of the unseen client is the change -10: (2 - 10)/2."""
    server = Receiver(afa_cd(server_lr=1.0, never_seen="literal"), vector(10.0), 2)
    assert server.get({0: vector(2.0)}).item() == 6.0
    assert server.get({0: vector(2.0)}).item() == 4.0  # now -6 of the unseen one
    assert server.get({1: vector(2.0)}).item() == 6.0  # it came: both give 2


def test_weights_by_samples_in_a_buffer() -> None:
    """10 and 30 samples: 2/4 + 4*3/4."""
    server = Receiver(fedavg(buffer="gradients"), vector(0.0), 2)
    assert server.get({0: vector(2.0), 1: vector(4.0)}).item() == pytest.approx(3.5)


def test_cells_have_a_memory_of_their_own() -> None:
    server = Receiver(fedavg(weighting="equal", buffer="models"), vector(0.0), 4, [0, 0, 1, 1])
    server.get({0: vector(2.0), 1: vector(4.0), 2: vector(8.0), 3: vector(8.0)})
    assert server.shared["w"].flatten().tolist() == [3.0, 8.0]
    server.get({0: vector(1.0)})
    assert server.shared["w"].flatten().tolist() == [4.0, 8.0]


def test_fednova_remembers_steps() -> None:
    """Equal shares, tau (1, 3), changes (1, 6): tau_eff = 2, step (1/1 + 6/3)/2 * 2 = 3; later client 0 comes with 2
    steps and change 2, so tau_eff = 2.5 and the step is (2/2 + 6/3)/2 * 2.5 = 3.75."""
    server = Receiver(fednova(weighting="equal", buffer="gradients"), vector(0.0), 2)
    assert server.get({0: vector(1.0), 1: vector(6.0)}, {0: 1.0, 1: 3.0}).item() == pytest.approx(3.0)
    assert server.get({0: vector(2.0)}, {0: 2.0}).item() == pytest.approx(6.75)


def test_fednova_discounts_clients_that_were_never_seen_once() -> None:
    """One of four has come, with change 8 in 5 steps: a quarter of it, as of every other algorithm."""
    server = Receiver(fednova(weighting="equal", buffer="gradients"), vector(0.0), 4)
    assert server.get({0: vector(8.0)}, {0: 5.0}).item() == pytest.approx(2.0)


def test_fednova_as_printed_is_slowed_averaging_without_memory() -> None:
    """Shares 1/4 and 3/4 of all samples; an absent client weighs 0: .1 (2/4 + 4*3/4) = .35, then .1 * 2/4."""
    server = Receiver(fednova(form="printed", server_lr=0.1), vector(0.0), 2)
    assert server.get({0: vector(2.0), 1: vector(4.0)}, {0: 1.0, 1: 5.0}).item() == pytest.approx(0.35)
    assert server.get({0: vector(2.0)}).item() == pytest.approx(0.40)


def test_feddisco_by_hand() -> None:
    """Eq. (83): d = sqrt(.5) for one class of two and 0 for both; shares .25, .75, a = .2, b = .1."""
    assert discrepancy(COUNTS, "l2").tolist() == pytest.approx([0.5**0.5, 0.0, 0.5**0.5, 0.125**0.5])
    assert discrepancy(COUNTS[:2], "kl").tolist() == pytest.approx([0.6931472, 0.0])
    first, second = 0.25 - 0.2 * 0.5**0.5 + 0.1, 0.75 + 0.1
    for buffer in ("none", "models", "gradients"):
        server = Receiver(feddisco(buffer=buffer), vector(0.0), 2)
        moved = server.get({0: vector(2.0), 1: vector(4.0)}).item()
        assert moved == pytest.approx((2 * first + 4 * second) / (first + second))


def test_feddisco_without_discount_is_fedavg() -> None:
    a, b = (Receiver(algorithm, vector(0.0), 3) for algorithm in (feddisco(a=0.0, b=0.0), fedavg()))
    changes = {0: vector(2.0), 1: vector(4.0), 2: vector(-1.0)}
    assert a.get(changes).item() == pytest.approx(b.get(changes).item())


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
    sent = osafl().upload({}, torch.zeros(2).long(), {}, trained, work)
    assert sent.flatten().tolist() == [2.0, 4.0]
    assert sent.data_ptr() == delta.data_ptr()  # a cohort of 100 models has no second copy


def test_what_receivers_may_know() -> None:
    assert osafl().reveals == frozenset()
    assert osafl().needs == {"individual"}
    assert osafl().publishes == {"staleness", "weight", "score"}
    assert fedavg().needs == frozenset()
    assert fedprox(buffer="models").needs == {"individual"}


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: fedavg(buffer="models", normalise="inverse"), "over all clients"),
        (lambda: fednova(form="printed", buffer="gradients"), "nothing to remember"),
        (lambda: fednova(never_seen="literal"), "w/eta"),
        (lambda: afa_cd(never_seen="literal", buffer="none"), "w/eta"),
    ],
)
def test_refusals(make: Callable[[], FedAvg], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        make()


BUFFERED = [
    "osafl",
    "afa_cd",
    "{kind: fedavg, buffer: models}",
    "{kind: fedprox, buffer: gradients}",
    "{kind: fednova, buffer: gradients}",
    "{kind: feddisco, buffer: models}",
]


@pytest.mark.parametrize("algorithm", BUFFERED[1:])  # osafl has no form without a buffer
def test_full_participation_from_the_start_equals_no_buffer(algorithm: str, tiny: Callable[..., Spec]) -> None:
    """Who is always there is never stale: with weights over all clients the buffer makes no difference."""
    sim = build(tiny(f"algorithm={algorithm}"))
    plain = replace(sim, algorithm=replace(sim.algorithm, buffer="none"))  # type: ignore[type-var]
    a, b = begin(sim), begin(plain)
    for _ in range(2):
        a, b = run_round(sim, a, evaluate=False)[0], run_round(plain, b, evaluate=False)[0]
    assert torch.allclose(a.memory.shared["w"], b.memory.shared["w"], atol=1e-6)


@pytest.mark.parametrize("algorithm", BUFFERED)
def test_a_round_without_anybody_still_steps(algorithm: str, cells: Callable[..., Spec]) -> None:
    """All clients come in round 0 and none later: the records show their age, the receivers go on."""
    sim = build(cells(f"algorithm={algorithm}", "hops.0.policy.steps=2"))
    state, _, _ = run_round(sim, begin(sim), evaluate=False)
    before = state.memory.shared["w"].clone()
    empty = state.signals | {"labelled": torch.zeros(6, dtype=torch.long)}
    silent = replace(sim, stream=_Silent(sim.stream))  # type: ignore[arg-type]
    state, record, exchanges = run_round(silent, replace(state, signals=empty), evaluate=False)
    assert record.train_loss is None
    assert [sum(exchange.active) for exchange in exchanges if exchange.hop == 0] == [0, 0]
    assert exchanges[0].notes["staleness"] == [1.0] * 6
    if "models" not in algorithm:
        assert not torch.equal(state.memory.shared["w"], before)


class _Silent:
    """A stream that has lost all its labels."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def stats(self, state: Slots) -> Slots:
        found: Slots = self._stream.stats(state)  # type: ignore[attr-defined]
        return found | {"labelled": torch.zeros_like(found["labelled"])}


def test_the_literal_buffer_blows_up_at_a_high_rate() -> None:
    """Three of four clients never come: 35 times three quarters of the literal -w multiplies the model by -25.25."""
    server = Receiver(osafl(server_lr=35.0, never_seen="literal"), vector(1.0), 4)
    assert server.get({0: vector(0.0)}).item() == pytest.approx(-25.25)
    assert server.get({}).item() == pytest.approx(25.25**2)
