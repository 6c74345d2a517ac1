"""Names of server optimisers: averaging with a rule at the receiver of the last hop."""

import torch
from support.worlds import after, cells, tiny

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.server_optimisers import fedadagrad, fedadam, fedavgm, fedyogi
from fedradio.receivers.adaptive import Adaptive
from fedradio.receivers.momentum import momentum


def test_the_rule_is_that_of_the_last_hop() -> None:
    sim = cells(algorithm=fedavgm(beta=0.5))
    assert [hop.receiver for hop in sim.hops] == [None, momentum(beta=0.5)]
    rules = [tiny(algorithm=make()).hops[0].receiver for make in (fedadam, fedyogi, fedadagrad)]
    assert [rule.second for rule in rules if isinstance(rule, Adaptive)] == ["adam", "yogi", "adagrad"]


def test_without_momentum_it_is_averaging() -> None:
    one, other = (after(cells(algorithm=algorithm), 3) for algorithm in (fedavgm(beta=0.0), fedavg()))
    assert torch.equal(one.memory.shared["w"], other.memory.shared["w"])
    assert one.bits == other.bits


def test_momentum_is_neither_sent_nor_counted() -> None:
    one, other = (after(cells(algorithm=algorithm), 3) for algorithm in (fedavgm(), fedavg()))
    assert not torch.equal(one.memory.shared["w"], other.memory.shared["w"])
    assert (one.bits, one.energy_j) == (other.bits, other.energy_j)
    assert list(one.memory.shared) == ["w"]
    assert one.parts["hops.1.receiver"]["v"].shape == (1, len(one.memory.shared["w"]))
