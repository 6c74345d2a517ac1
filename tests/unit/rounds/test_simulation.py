"""Parts together: algorithms share a world, and central training is one node."""

import torch
from support.worlds import cells, tiny

from fedradio.algorithms.fedavg import central
from fedradio.algorithms.scaffold import scaffold
from fedradio.engine.rules import sgd
from fedradio.rounds.round import begin, run_round


def test_algorithms_see_the_same_world() -> None:
    a, b = tiny(), tiny(algorithm=scaffold(), rule=sgd(lr=0.1, batch=16, momentum=0.5))
    assert torch.equal(begin(a).memory.shared["w"], begin(b).memory.shared["w"])
    assert torch.equal(a.stream.test().index, b.stream.test().index)
    draws = [s.stream.draw(s.stream.start(), torch.arange(6), torch.full((6,), 4), 16, s.rng) for s in (a, b)]
    assert torch.equal(draws[0].labelled.index, draws[1].labelled.index)


def test_central_is_one_node_with_everything() -> None:
    sim = cells(algorithm=central(steps=7))
    _, record, exchanges = run_round(sim, begin(sim))
    assert len(exchanges) == 1
    assert exchanges[0].steps == [7]
    assert record.time_s is None
    assert record.bits == [None]
    everything = int(sim.stream.stats(sim.stream.start())["samples"].sum())
    assert everything == 1797 - len(sim.stream.test().index)
