"""Knowledge of receivers, and an algorithm that leaves everything as it is."""

from dataclasses import dataclass

import torch
from support.receiver import cohort, knowledge
from torch import Tensor

from fedradio.algorithms.fedavg import central, fedavg
from fedradio.core.contracts import MODEL, Algorithm, Delivery, Held, Info, Merged, Pools, Trained, Work


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
    assert (algorithm.blocks, algorithm.relay, algorithm.ledger) == (1, "arrived", None)
    assert algorithm.needs == algorithm.reveals == algorithm.publishes == algorithm.memory_blocks == frozenset()
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
    assert algorithm.measures(memory, none) == {}


def test_central_training_alone_pools() -> None:
    assert isinstance(central(), Pools)
    assert not isinstance(fedavg(), Pools)
