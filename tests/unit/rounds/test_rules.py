"""Combinations that are refused before a run, with path, reason and remedy."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fedradio.algorithms.fedavg import FedAvg
from fedradio.core.errors import SpecError
from fedradio.policies.effort import Effort
from fedradio.policies.fixed import Fixed
from fedradio.rounds.compatibility import problems_of
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

RADIO = ("link=digital", "channel=urban_macro", "fleet=cellular")


@pytest.mark.parametrize(
    ("overrides", "path", "words"),
    [
        (["topology={kind: hierarchical, edges: 2, clients_per_edge: 3}"], "hops", "2 hop"),
        (["hops.0.period=2"], "hops.0.period", "last hop"),
        (["hops.0.deadline_s=3"], "hops.0.deadline_s", "fleet"),
        (["clock=deadline"], "clock", "hops.0.deadline_s"),
        (["rule.keep_state=true"], "rule.keep_state", "momentum"),
        (["eval_top=11"], "eval_top", "10 classes"),
        (["hops.0.policy={kind: sampling, clients: 7}"], "hops.0.policy", "only 6"),
        (["algorithm=fednova", "rule={kind: adam}"], "rule.kind", "sgd"),
        (["hops.0.policy={kind: fixed, steps: 3, epochs: 1}"], "hops.0.policy.epochs", "keep one"),
        (["topology.min_distance_m=500"], "topology.min_distance_m", "smaller"),
    ],
)
def test_refused(tiny: Callable[..., Spec], overrides: list[str], path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(tiny(*overrides))
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in f"{problem.reason} {problem.remedy}"


def test_all_at_once(tiny: Callable[..., Spec]) -> None:
    with pytest.raises(SpecError) as caught:
        build(
            tiny(
                "clock=deadline",
                "hops.0.period=3",
                "rule.keep_state=true",
                "hops.0.policy={kind: sampling, clients: 9}",
            )
        )
    assert {p.path for p in caught.value.problems} == {"clock", "hops.0.period", "rule.keep_state", "hops.0.policy"}


def test_traits_and_signals(tiny: Callable[..., Spec]) -> None:
    sim = build(tiny())
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


SOME = "hops.1.policy={kind: sampling, clients: 1}"
AIR = tuple(f"hops.1.{piece}" for piece in RADIO)


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (["algorithm=scaffold", SOME], "hops.1.policy"),
        (["algorithm={kind: fedavg, normalise: inverse}", SOME], "hops.1.policy"),
        (["algorithm=scaffold", "hops.1.deadline_s=9"], "hops.1.deadline_s"),
        (["algorithm=scaffold", *AIR, "hops.1.link.erasure=0.5"], "hops.1.link"),
        ([*AIR, "hops.1.deadline_s=9", "hops.1.policy={kind: joint, clients: 1}"], "hops.1.policy"),
        ([*AIR, "hops.1.deadline_s=9", "hops.1.policy=budget"], "hops.1.policy"),
        (["hops.0.fleet=null", "hops.1.fleet=cellular", "hops.1.deadline_s=1"], "hops.1.deadline_s"),
        (["clock=deadline", "hops.0.deadline_s=10", "hops.1.deadline_s=15"], "hops.1.deadline_s"),
        (["algorithm=scaffold", "rule={kind: sgd, momentum: 0.9, keep_state: true}"], "rule.keep_state"),
    ],
)
def test_refused_in_cells(cells: Callable[..., Spec], overrides: list[str], path: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(cells(*overrides))
    assert path in {problem.path for problem in caught.value.problems}
