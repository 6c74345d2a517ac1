"""Combinations that are refused before a run, with path, reason and remedy."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support.worlds import cells, tiny

from fedradio.algorithms.fedavg import FedAvg, fedavg
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Hop
from fedradio.core.errors import SpecError
from fedradio.engine.rules import adam, sgd
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.network.channel import urban_macro
from fedradio.network.topology import hierarchical
from fedradio.policies.budget import budget
from fedradio.policies.effort import Effort
from fedradio.policies.fixed import Fixed, fixed
from fedradio.policies.joint import joint
from fedradio.policies.sampling import sampling
from fedradio.rounds.compatibility import problems_of

KEPT = sgd(lr=0.1, batch=16, keep_state=True)


@pytest.mark.parametrize(
    ("parts", "path", "words"),
    [
        ({"topology": partial(hierarchical, edges=2, clients_per_edge=3)}, "hops", "2 hop"),
        ({"period": 2}, "hops.0.period", "last hop"),
        ({"deadline_s": 3.0}, "hops.0.deadline_s", "fleet"),
        ({"clock": "deadline"}, "clock", "hops.0.deadline_s"),
        ({"rule": KEPT}, "rule.keep_state", "momentum"),
        ({"eval_top": 11}, "eval_top", "10 classes"),
        ({"policy": sampling(clients=7)}, "hops.0.policy", "only 6"),
        ({"algorithm": fednova(), "rule": adam()}, "rule.kind", "sgd"),
    ],
)
def test_refused(parts: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        tiny(**parts)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in f"{problem.reason} {problem.remedy}"


def test_all_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        tiny(clock="deadline", period=3, rule=KEPT, policy=sampling(clients=9))
    assert {p.path for p in caught.value.problems} == {"clock", "hops.0.period", "rule.keep_state", "hops.0.policy"}


def test_traits_and_signals() -> None:
    sim = tiny()
    hop = sim.hops[0]

    class Greedy(Fixed):
        needs = frozenset({"rate", "fleet"})
        reads = frozenset({"score"})

    greedy = replace(hop, policy=Greedy(Effort((1, 1), None)))
    found = {(p.path, p.reason) for p in problems_of(replace(sim, hops=(greedy,)))}
    assert {path for path, _ in found} == {"hops.0.policy"}
    assert len(found) == 3

    class Lonely(FedAvg):
        needs = frozenset({"superposition"})

    (problem,) = problems_of(replace(sim, algorithm=Lonely()))
    assert problem.path == "hops.0.link"
    assert "superposition" in problem.reason


SOME = Hop(ideal(), sampling(clients=1))


def radio(erasure: float = 0.0, **pieces: Any) -> dict[str, Any]:
    """A digital hop from the edges to the server, with devices."""
    hop = Hop(**{"link": digital(erasure=erasure), "policy": fixed(), "channel": urban_macro()} | pieces)
    return {"above": hop, "fleet_above": cellular}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"algorithm": scaffold(), "above": SOME}, "hops.1.policy"),
        ({"algorithm": fedavg(normalise="inverse"), "above": SOME}, "hops.1.policy"),
        ({"algorithm": scaffold(), "above": Hop(ideal(), fixed(), deadline_s=9.0)}, "hops.1.deadline_s"),
        ({"algorithm": scaffold(), **radio(erasure=0.5)}, "hops.1.link"),
        (radio(deadline_s=9.0, policy=joint(clients=1)), "hops.1.policy"),
        (radio(deadline_s=9.0, policy=budget()), "hops.1.policy"),
        (
            {"fleet": None, "above": Hop(ideal(), fixed(), deadline_s=1.0), "fleet_above": cellular},
            "hops.1.deadline_s",
        ),
        (
            {"clock": "deadline", "deadline_s": 10.0, "above": Hop(ideal(), fixed(), deadline_s=15.0)},
            "hops.1.deadline_s",
        ),
        ({"algorithm": scaffold(), "rule": sgd(momentum=0.9, keep_state=True)}, "rule.keep_state"),
    ],
)
def test_refused_in_cells(parts: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecError) as caught:
        cells(**parts)
    assert path in {problem.path for problem in caught.value.problems}
