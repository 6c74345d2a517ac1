"""Composed simulations as specs: every value counts, equal compositions are equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from support.worlds import cells, tiny
from torch import Tensor, nn

from fedradio.algorithms.fedavg import FedAvg, fedavg
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Constant
from fedradio.core.errors import SpecError, StoreError
from fedradio.data.growing import growing
from fedradio.data.partition import dirichlet
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.metrics.f1 import macro_f1
from fedradio.models import wrap
from fedradio.policies.fixed import fixed
from fedradio.rounds.simulation import Simulation
from fedradio.runs.composed import composed_spec, described, difference, same_composition
from fedradio.spec.spec import COMPOSED, check_spec, complete_spec

Make = Callable[[], Simulation]


class Net(nn.Module):
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)
        self.register_buffer("scale", torch.tensor(scale))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x.flatten(1) * self.scale)


class Net2(Net):
    """The same with another text."""


def own(net: Callable[[], nn.Module]) -> Make:
    return lambda: tiny(model=lambda shape, classes: wrap(net(), shape, classes))


@dataclass(frozen=True)
class Odd(FedAvg):
    """Remembers what no checkpoint keeps."""

    memory: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))


OTHERS: dict[str, tuple[Make, str]] = {
    "seed": (lambda: tiny(seed=4), "seed"),
    "rate": (lambda: tiny(rule=sgd(lr=0.2, batch=16)), "rule.lr"),
    "algorithm": (lambda: tiny(algorithm=fedavg(server_lr=0.5)), "algorithm.server_lr"),
    "other algorithm": (lambda: tiny(algorithm=scaffold()), "algorithm.kind"),
    "policy": (lambda: tiny(policy=fixed(steps=4)), "hops.0.policy.effort.steps"),
    "late": (lambda: tiny(late="finish"), "hops.0.late"),
    "link": (lambda: tiny(link=ideal(bits_per_value=16)), "hops.0.link.bits_per_value"),
    "partition": (lambda: tiny(partition=partial(dirichlet, alpha=0.5)), "data.stream.tapes.index"),
    "stream": (lambda: tiny(stream=partial(growing, history=2)), "data.stream.kind"),
    "network": (lambda: cells(), "topology.parents"),
    "model": (own(Net), "model.network"),
    "metric": (lambda: tiny(metrics=[macro_f1()]), "metrics"),
    "clock": (lambda: tiny(grouping="single"), "grouping"),
    "precision": (lambda: tiny(precision="bf16"), "precision"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_part_counts(name: str) -> None:
    make, where = OTHERS[name]
    one, other = composed_spec(tiny(), rounds=2), composed_spec(make(), rounds=2)
    assert one.sha256() == composed_spec(tiny(), rounds=2).sha256()
    assert one.sha256() != other.sha256()
    assert any(key.startswith(where) for key in difference(one.plain, other.plain))
    complete_spec(other.plain, "it")  # as stored specs are read


def test_modules_of_the_users_own() -> None:
    """Start values that the seed draws do not count; buffers, and the text of the class, do."""

    def mark(net: Callable[[], nn.Module]) -> str:
        return composed_spec(own(net)(), rounds=1).sha256()

    assert mark(Net) == mark(Net)
    assert len({mark(Net), mark(lambda: Net(2.0)), mark(Net2)}) == 3
    sources = described(composed_spec(own(Net2)(), rounds=1), own(Net2)())["sources"]
    assert [each["name"] for each in sources] == ["Net", "Net2"]
    assert sources[1]["source"].startswith("class Net2(Net):")


def test_the_description_has_units_and_sentences() -> None:
    sim = tiny(metrics=[macro_f1()], algorithm=Odd())
    found = described(composed_spec(sim, rounds=1), sim)
    assert found["parts"]["algorithm"]["Odd"]["summary"] == "Remembers what no checkpoint keeps."
    assert found["metrics"]["macro_f1"]["better"] == "more"


def test_options_are_checked() -> None:
    with pytest.raises(SpecError) as caught:
        composed_spec(tiny(), rounds=0, name="a/b")
    assert {problem.path for problem in caught.value.problems} == {"rounds", "name"}
    with pytest.raises(SpecError, match="rounds"):
        composed_spec(tiny())


def test_it_cannot_be_built() -> None:
    with pytest.raises(SpecError, match="composed in Python"):
        check_spec(composed_spec(tiny(), rounds=1).plain)


def test_who_may_go_on() -> None:
    spec, folder = composed_spec(tiny(), rounds=2), Path("runs/a")
    assert same_composition(spec, sim := tiny(), folder) is sim
    with pytest.raises(StoreError, match=r"fedradio.resume\('runs/a', simulation=...\)"):
        same_composition(spec, None, folder)
    with pytest.raises(StoreError, match=r"a different simulation: rule.lr differ"):
        same_composition(spec, tiny(rule=sgd(lr=0.3, batch=16)), folder)
    plain = {key: value for key, value in spec.plain.items() if key != COMPOSED}
    with pytest.raises(StoreError, match="leave simulation= out"):
        same_composition(type(spec)(plain), tiny(), folder)
    odd = composed_spec(tiny(algorithm=Odd()), rounds=2)
    with pytest.raises(StoreError, match=r"algorithm.memory: keeps state that is not in the checkpoint"):
        same_composition(odd, tiny(algorithm=Odd()), folder)


def test_the_schedule_stands_once() -> None:
    plain = composed_spec(tiny(), rounds=1).plain
    assert plain["schedule"] == {"kind": type(Constant()).__name__}
