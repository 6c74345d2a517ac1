"""Parts together: algorithms share a world, central training is one node, backends are given groups of clients."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.worlds import cells, tiny

from fedradio.algorithms.fedavg import central
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Clock, EvalJob, Gather, Hop, Message, Scores, Trained, TrainJob
from fedradio.core.errors import SpecError
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.network.trace import Trace, trace
from fedradio.policies.fixed import fixed
from fedradio.receivers.momentum import momentum
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import _timed, compose
from fedradio.transforms.sparsify import top_k


def test_algorithms_see_the_same_world() -> None:
    a, b = tiny(), tiny(algorithm=scaffold(), rule=sgd(lr=0.1, batch=16, momentum=0.5))
    assert torch.equal(begin(a).memory.shared["w"], begin(b).memory.shared["w"])
    assert torch.equal(a.stream.test().index, b.stream.test().index)
    draws = [s.stream.draw(s.stream.start(), torch.arange(6), torch.full((6,), 4), 16, s.rng) for s in (a, b)]
    assert torch.equal(draws[0].labelled.index, draws[1].labelled.index)


def test_without_hops_it_is_refused() -> None:
    parts = {name: getattr(tiny(), name) for name in ("topology", "stream", "model", "algorithm", "rule")}
    with pytest.raises(SpecError, match="hops: no hop is given"):
        compose(**parts, hops=[])


def test_traces_go_by_the_deadline_of_the_clients() -> None:
    """3 s for an edge round, two of them a round: gains of the hop above are 6 s apart."""
    gains = trace(path=str(Path(__file__).parents[2] / "support" / "gains.csv"))
    first, second = cells(period=2).hops
    hops = (replace(first, channel=gains, deadline_s=3.0), replace(second, channel=gains))
    timed = _timed(replace(cells(period=2), hops=hops))
    assert [hop.channel.interval_s for hop in timed.hops if isinstance(hop.channel, Trace)] == [3.0, 6.0]


def test_central_says_what_it_leaves_out() -> None:
    above = Hop(ideal(), fixed(), transforms=(top_k(),), receiver=momentum())
    (warning,) = cells(algorithm=central(steps=7), above=above).warnings
    assert warning == "hops.1.transforms, hops.1.receiver: not used, because central training has no network"
    assert cells(algorithm=central(steps=7)).warnings == ()

    class Waiting(Gather):
        """Updates could stay in flight."""

    (warning,) = cells(algorithm=central(steps=7), above=Hop(ideal(), fixed(), gather=Waiting())).warnings
    assert warning.startswith("hops.1.gather: not used")


def test_central_is_one_node_with_everything() -> None:
    sim = cells(algorithm=central(steps=7))
    _, record, exchanges = run_round(sim, begin(sim))
    assert len(exchanges) == 1
    assert exchanges[0].steps == [7]
    assert record.time_s is None
    assert record.bits == [None]
    everything = int(sim.stream.stats(sim.stream.start())["samples"].sum())
    assert everything == 1797 - len(sim.stream.test().index)


def test_exchanges_and_clocks_of_every_hop() -> None:
    """Three hops with periods 2, 3 and 1: six edge rounds a round, three exchanges in the middle, one above."""
    two = cells(period=2)
    sim = replace(two, hops=(two.hops[0], replace(two.hops[1], period=3), two.hops[1]))
    assert sim.edge_rounds == 6
    assert [sim.exchanges(h) for h in range(3)] == [6, 3, 1]
    assert sim.clock(0, t=2, e=5, now_s=1.5) == Clock(2, 5, 17, 1.5)
    assert sim.clock(1, t=2, e=1).n == 7
    assert sim.clock(2, t=2).n == 2


def test_what_a_client_sends() -> None:
    sim = tiny(algorithm=scaffold())
    assert sim.message(0) == Message(2, sim.model.shared.size, memory=frozenset({1}))
    assert cells(algorithm=scaffold()).message(1) == Message(2, sim.model.shared.size)
    assert cells().message(1) == Message(1, sim.model.shared.size)


class Listening(Engine):
    """An engine that keeps the groups and the evaluations it was given."""

    def __init__(self) -> None:
        super().__init__(1)
        self.groups: list[list[list[int]]] = []
        self.evaluations: list[EvalJob] = []

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        self.groups.append(groups)
        return super().train(job, groups)

    def evaluate(self, job: EvalJob) -> Scores:
        self.evaluations.append(job)
        return super().evaluate(job)


def test_a_backend_trains_and_evaluates_and_is_told_the_groups() -> None:
    results = {}
    for grouping, groups in (("auto", [[0, 1, 2, 3, 4, 5]]), ("single", [[0], [1], [2], [3], [4], [5]])):
        backend = Listening()
        sim = tiny(backend=backend, grouping=grouping, eval_top=2)
        state, record, _ = run_round(sim, begin(sim))
        assert backend.groups == [groups]
        assert [(job.top, job.local) for job in backend.evaluations] == [(2, None)]
        assert torch.equal(backend.evaluations[0].ensemble.members[0][0], state.memory.shared["w"])
        results[grouping] = state.memory.shared["w"]
        again = tiny(grouping=grouping, eval_top=2, workers=2)
        same, twin, _ = run_round(again, begin(again))
        assert torch.equal(same.memory.shared["w"], results[grouping])
        assert twin.metrics == record.metrics
    torch.testing.assert_close(results["auto"], results["single"])
    assert not torch.equal(results["auto"], results["single"])
