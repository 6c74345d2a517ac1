"""Combinations that are refused before a run, with path, reason and remedy."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from support.worlds import cells, tiny
from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg, fedavg
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Hop, Metric
from fedradio.core.errors import SpecError
from fedradio.engine.rules import adam, sgd
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.metrics.accuracy import top
from fedradio.metrics.f1 import macro_f1
from fedradio.models.convolutional import cnn3x3
from fedradio.network.channel import urban_macro
from fedradio.network.power_law import power_law
from fedradio.network.topology import hierarchical
from fedradio.policies.budget import budget
from fedradio.policies.effort import Effort
from fedradio.policies.fixed import Fixed, fixed
from fedradio.policies.joint import joint
from fedradio.policies.sampling import sampling
from fedradio.rounds.compatibility import problems_of


class Vague(Metric):
    """A metric that gives another score than it announces."""

    @property
    def names(self) -> tuple[str, ...]:
        return ("more",)

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        return {"less": 0.0}


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
        ({"metrics": [macro_f1(), top(m=11)]}, "metrics.1.m", "10 classes"),
        ({"metrics": [macro_f1(), macro_f1()]}, "metrics.1", "already produced by metrics.0"),
        ({"metrics": [top(m=3)], "eval_top": 3}, "metrics.0", "already produced by eval_top=3"),
        ({"metrics": [Vague()]}, "metrics.0", "declares the scores more, but returns less"),
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


def test_noise_that_the_link_cannot_use_is_refused() -> None:
    """Rates need a density; a symbol needs a ratio, or a density with a rate and a unit of power."""
    with pytest.raises(SpecError, match="set noise_w_hz") as caught:
        tiny(link=digital(), channel=power_law(), fleet=cellular)
    assert [problem.path for problem in caught.value.problems] == ["hops.0.channel"]
    tiny(link=digital(), channel=power_law(noise_w_hz=4e-21), fleet=cellular)
    with pytest.raises(SpecError, match="link's symbol_rate_hz and power_unit_w"):
        tiny(link=over_the_air(), channel=urban_macro())
    tiny(link=over_the_air(symbol_rate_hz=1e6, power_unit_w=1.0), channel=urban_macro())


def test_fading_that_the_link_does_not_take_is_refused_with_links_that_do() -> None:
    with pytest.raises(SpecError) as caught:
        tiny(link=over_the_air(symbol_rate_hz=1e6, power_unit_w=1.0), channel=urban_macro(fading="rayleigh"))
    (problem,) = caught.value.problems
    assert problem.path == "hops.0.channel"
    assert "constant for a whole exchange (block), but this link supports fresh, none" in problem.reason
    assert "digital" in problem.remedy
    assert "over_the_air" not in problem.remedy
    tiny(link=ideal(), channel=urban_macro(fading="rayleigh"))


@dataclass(frozen=True)
class Curious(FedAvg):
    """Averaging that wants to know what nobody can tell."""

    @property
    def reveals(self) -> frozenset[str]:
        return frozenset({"samples", "updates", "start_seen", "birthday"})


def test_an_algorithm_that_reveals_what_nobody_knows_is_refused() -> None:
    with pytest.raises(SpecError, match="it reveals birthday to the receivers") as caught:
        tiny(algorithm=Curious())
    assert [problem.path for problem in caught.value.problems] == ["algorithm"]


def test_a_policy_that_ignores_the_deadline_has_a_warning() -> None:
    """One that plans with it, or leaves out who would be late, has none."""
    heeding = (sampling(clients=2), joint(clients=1), budget())
    radio = {"link": digital(), "channel": urban_macro(), "deadline_s": 9.0}
    for policy in (fixed(), sampling(clients=2, deadline="ignore"), *heeding):
        warned = [text for text in cells(policy=policy, **radio).warnings if "deadline" in text]
        assert len(warned) == (policy not in heeding)
    assert not any("deadline" in text for text in cells(policy=fixed(), **radio | {"deadline_s": None}).warnings)


CONVOLUTIONS = partial(cnn3x3, width=2, features=4)


def test_mixed_precision_warns_where_it_does_nothing_or_costs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def warned(**world: Any) -> list[str]:
        return [text for text in tiny(**world).warnings if text.startswith("precision")]

    for units in (True, False):
        monkeypatch.setattr("fedradio.rounds.compatibility.has_bf16_units", lambda _, units=units: units)
        assert warned(precision="float32", model=CONVOLUTIONS) == warned() == []
        (ignored,) = warned(precision="bf16")
        assert "no effect" in ignored
        slow = warned(precision="bf16", model=CONVOLUTIONS)
        assert slow == [] if units else "slower than float32" in slow[0]
