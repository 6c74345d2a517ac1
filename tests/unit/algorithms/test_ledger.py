"""Contribution buffers, by hand (OSAFL, Algorithms 6-10)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from support.receiver import Receiver, knowledge, vector
from support.worlds import cells, tiny
from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg, fedavg, fedprox
from fedradio.algorithms.feddisco import feddisco
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.osafl import afa_cd, osafl
from fedradio.core.contracts import Algorithm, Delivery, Held, Info, Ledger, Memory, Merged, Slots
from fedradio.core.errors import SpecError
from fedradio.core.params import group_share
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.compatibility import problems_of
from fedradio.rounds.round import begin, run_round


def test_two_kinds_of_memory_by_hand() -> None:
    """The case of the module's docstring: 3, then 5.5 with gradients and 4 with models."""
    memories = (fedavg(weighting="equal", buffer="gradients"), 5.5), (fedavg(weighting="equal", buffer="models"), 4.0)
    for algorithm, second in memories:
        server = Receiver(algorithm, vector(0.0), 2)
        assert server.get({0: vector(2.0), 1: vector(4.0)}).item() == 3.0
        assert server.get({0: vector(1.0)}).item() == second
        assert server.signals["staleness"].tolist() == [0.0, 1.0]


@dataclass(frozen=True)
class TwoMethods(Algorithm):
    """An algorithm with a ledger as a user writes it."""

    ledger = Ledger()

    def weights(self, held: Held, info: Info) -> Tensor:
        return group_share(info.arrived.double(), info.group, info.receivers)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return Merged(Held({"w": held.shared["w"] + delivery.total[:, 0]}, held.ledger, held.receiver))


def test_a_ledger_is_a_declaration() -> None:
    """Two methods are plain averaging of the last changes of all clients, bit for bit, on two hops, absent or not."""
    records = []
    for algorithm in (TwoMethods(), fedavg(weighting="equal", buffer="gradients")):
        sim = cells(algorithm=algorithm, policy=sampling(clients=1, steps=2))
        state = begin(sim)
        for _ in range(3):
            state, _, exchanges = run_round(sim, state, evaluate=False)
        records.append((state.memory.shared["w"], state.signals["staleness"].tolist(), exchanges))
    assert torch.equal(records[0][0], records[1][0])
    assert records[0][1:] == records[1][1:]
    assert max(records[0][1]) > 0


@dataclass(frozen=True)
class Forgetful(TwoMethods):
    """A merge that gives back the model alone."""

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return Merged(Held({"w": held.shared["w"] + delivery.total[:, 0]}))


def test_the_ledger_outlives_a_merge_that_gives_back_the_model_alone() -> None:
    """Three rounds, in which clients are away, are those of an algorithm that gives back all it has."""
    states = []
    for algorithm in (TwoMethods(), Forgetful()):
        sim = tiny(algorithm=algorithm, policy=sampling(clients=2, steps=2))
        state = begin(sim)
        for _ in range(3):
            state, _, _ = run_round(sim, state, evaluate=False)
        states.append(state)
    one, two = states
    assert torch.equal(one.memory.shared["w"], two.memory.shared["w"])
    assert one.memory.ledger["age"].tolist() == two.memory.ledger["age"].tolist()
    assert float(one.memory.ledger["age"].max()) > 0


@dataclass(frozen=True)
class Counting(Algorithm):
    """Receivers count their merges, the first only."""

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        return Memory(shared={"w": w}, receiver={"merges": torch.zeros(receivers, 1)})

    def weights(self, held: Held, info: Info) -> Tensor:
        return group_share(info.arrived.double(), info.group, info.receivers)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        counted = {"merges": held.receiver["merges"] + 1} if info.clock.t == 0 else {}
        return Merged(Held({"w": held.shared["w"] + delivery.total[:, 0]}, receiver=counted))


def test_receivers_keep_the_memory_that_a_merge_does_not_give_back() -> None:
    sim = tiny(algorithm=Counting())
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert state.memory.receiver["merges"].tolist() == [[1.0]]


@dataclass(frozen=True)
class Careful(TwoMethods):
    """Shares of the selected over the chance to arrive, less by the size of the receiver's model."""

    def weights(self, held: Held, info: Info) -> Tensor:
        chance = torch.where(info.arrived, info.expect, 1.0)
        size = held.shared["w"].norm(dim=1).double()[info.group]
        return group_share(torch.ones(len(info.ids)).double(), info.group, info.receivers) / chance / (1 + size)


def test_all_clients_of_a_ledger_are_weighed_by_hand() -> None:
    """Client 0 of two, with a chance of 1/2, finds a model of size 3: each counts 1/2/(1 + 3) = 1/8 in the ledger."""
    told = knowledge(torch.tensor([0]), torch.tensor([0, 0]), {})
    held = Held({"w": vector(3.0).view(1, 1)}, {"age": vector(0.0, 4.0)})
    slots, weight = Careful().coefficients(held, replace(told, expect=vector(0.5)))
    assert weight.tolist() == [0.125, 0.125]
    assert slots is held.ledger
    assert Careful().weights(held, replace(told, expect=vector(0.5))).tolist() == [0.5]


class Unkept(TwoMethods):
    """Declarations without what belongs to them."""

    ledger = Ledger(publishes=("trust",))
    needs = frozenset()
    reveals = frozenset({"steps"})


def test_declarations_of_a_ledger_are_refused_before_the_run() -> None:
    def refusals(algorithm: Algorithm) -> list[str]:
        found = problems_of(replace(tiny(), algorithm=algorithm))
        assert all(one.path == "algorithm" and one.remedy for one in found)
        return [one.reason for one in found]

    assert refusals(Unkept()) == [
        "its ledger publishes trust, but has no such slot",
        "it weighs absent clients by steps, which are known of those that train only",
        "a ledger remembers individual payloads, but its needs do not name them",
    ]
    assert [refusals(algorithm) for algorithm in (TwoMethods(), *BUFFERED)] == [[]] * (1 + len(BUFFERED))


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
    assert server.held.shared["w"].flatten().tolist() == [3.0, 8.0]
    server.get({0: vector(1.0)})
    assert server.held.shared["w"].flatten().tolist() == [4.0, 8.0]


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
    osafl(),
    afa_cd(),
    fedavg(buffer="models"),
    fedprox(buffer="gradients"),
    fednova(buffer="gradients"),
    feddisco(buffer="models"),
]


NAMES = ["osafl", "afa_cd", "fedavg", "fedprox", "fednova", "feddisco"]


@pytest.mark.parametrize("algorithm", BUFFERED[1:], ids=NAMES[1:])  # osafl has no form without a buffer
def test_full_participation_from_the_start_equals_no_buffer(algorithm: FedAvg) -> None:
    """Who is always there is never stale: with weights over all clients the buffer makes no difference."""
    sim = tiny(algorithm=algorithm)
    plain = replace(sim, algorithm=replace(algorithm, ledger=None))
    a, b = begin(sim), begin(plain)
    for _ in range(2):
        a, b = run_round(sim, a, evaluate=False)[0], run_round(plain, b, evaluate=False)[0]
    assert torch.allclose(a.memory.shared["w"], b.memory.shared["w"], atol=1e-6)


@pytest.mark.parametrize("algorithm", BUFFERED, ids=NAMES)
def test_a_round_without_anybody_still_steps(algorithm: FedAvg) -> None:
    """All clients come in round 0 and none later: the records show their age, the receivers go on."""
    sim = cells(algorithm=algorithm, policy=fixed(steps=2))
    state, _, _ = run_round(sim, begin(sim), evaluate=False)
    before = state.memory.shared["w"].clone()
    empty = state.signals | {"labelled": torch.zeros(6, dtype=torch.long)}
    silent = replace(sim, stream=_Silent(sim.stream))  # type: ignore[arg-type]
    state, record, exchanges = run_round(silent, replace(state, signals=empty), evaluate=False)
    assert record.train_loss is None
    assert [exchange.ids for exchange in exchanges if exchange.hop == 0] == [[], []]
    assert exchanges[0].notes["staleness"].values == [1.0] * 6
    if not algorithm.ledger.models:
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
