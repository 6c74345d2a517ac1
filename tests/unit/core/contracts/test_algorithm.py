"""Knowledge of receivers, and an algorithm that leaves everything as it is."""

from dataclasses import dataclass
from typing import Protocol

import torch
from support.receiver import cohort, knowledge
from torch import Tensor

from fedradio.algorithms.fedavg import central, fedavg
from fedradio.core.contracts import (
    MODEL,
    Algorithm,
    ClientSide,
    Delivery,
    Held,
    Info,
    Merged,
    Message,
    Phased,
    Pools,
    Publishes,
    ReceiverSide,
    SingleHop,
    Trained,
    Work,
)
from fedradio.core.registry import parts


def test_members_count_the_absent_too() -> None:
    """Clients 0 and 1 belong to receiver 0, client 2 to receiver 2; only client 1 takes part."""
    assert knowledge(torch.tensor([1]), torch.tensor([0, 0, 2]), {}).members.tolist() == [2, 0, 1]


@dataclass(frozen=True)
class Least(Algorithm):
    """An algorithm that says no more than it has to."""

    def weights(self, held: Held, info: Info) -> Tensor:
        return self.importance(info.known, len(info.ids))

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return Merged(held)


def test_the_defaults_are_those_of_plain_averaging() -> None:
    algorithm, w = Least(), torch.tensor([1.0, 2.0])
    assert (algorithm.sends, algorithm.relay, algorithm.ledger) == (("change",), "arrived", None)
    assert algorithm.needs == algorithm.reveals == frozenset()
    memory = algorithm.init(w, clients=3, receivers=2)
    assert memory.shared == {MODEL: w}
    assert not memory.client | memory.ledger | memory.receiver
    here = cohort({MODEL: torch.stack((w, 3 * w))}, {}, torch.tensor([1, 0, 1]))
    start = algorithm.start(here)
    assert start.w[start.group].tolist() == [[3, 6], [1, 2], [3, 6]]
    trained = Trained(torch.ones(3, 2), None, torch.zeros(3), {})
    none = torch.zeros(3)
    work = Work(none, none, none, none)
    payload = algorithm.upload(here, trained, work)
    assert payload.shape == (3, 1, 2)
    assert algorithm.keep(here, trained, work, payload, none.bool()) == {}
    assert algorithm.importance({}, 3).tolist() == [1, 1, 1]
    assert [ensemble.members for ensemble in algorithm.predict(memory.shared, {}).values()] == [(w,)]
    assert not isinstance(algorithm, (Phased, Pools, Publishes, SingleHop))


CLIENT = {"rule", "init", "start", "upload", "keep", "predict"}
RECEIVER = {"importance", "weights", "merge"}


def test_an_algorithm_has_two_sides_and_at_most_sixteen_members() -> None:
    """A device of a federation has the client side alone; outer hops have the receiver side alone."""

    def members(*sides: type) -> set[str]:
        return {name for side in sides for name in (*vars(side), *side.__annotations__) if name[0] != "_"}

    assert members(ClientSide) == CLIENT
    assert members(ReceiverSide) == RECEIVER
    assert len(members(ClientSide, ReceiverSide, Algorithm)) <= 16


def test_every_member_is_used_by_two_kinds() -> None:
    """A member that one kind alone needs belongs to that kind: see ``Phased``, ``SingleHop`` and others."""
    kinds = [part.factory() for part in parts("algorithm")]
    for name in vars(Algorithm).keys() - vars(Protocol).keys() | CLIENT | RECEIVER:
        if name[0] != "_":
            plain = getattr(Least, name)
            own = [kind for kind in kinds if getattr(type(kind), name) is not plain or vars(kind).get(name)]
            assert len(own) >= (1 if name == "needs" else 2), name


def test_messages_follow_from_what_is_sent() -> None:
    assert Message.of(("change", "memory"), 5) == Message(2, 5, memory=frozenset({1}))
    assert Message.of(("change",), 5) == Message(1, 5)


def test_central_training_alone_pools() -> None:
    assert isinstance(central(), Pools)
    assert not isinstance(fedavg(), Pools)
