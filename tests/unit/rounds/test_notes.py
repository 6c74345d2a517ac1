"""Names of notes and signals: declared, and used once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from support.worlds import SIX, simulate, tiny

from fedradio.algorithms.fedavg import FedAvg
from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.algorithms.osafl import osafl
from fedradio.core.contracts import (
    Airtime,
    Allocation,
    Coded,
    Delivery,
    Exchange,
    Held,
    Hop,
    Info,
    Merged,
    Noted,
    Sent,
    Slots,
    Transform,
    View,
)
from fedradio.core.errors import OwnCodeError, SpecError
from fedradio.core.rng import Rng
from fedradio.links.ideal import Ideal, ideal
from fedradio.policies.effort import effort
from fedradio.policies.fixed import Fixed
from fedradio.rounds.round import begin, run_round
from fedradio.transforms.clip import clip


@dataclass(frozen=True)
class Noting(Fixed):
    """Everybody takes part; it notes the number of every client by this name, and declares these names."""

    name: str = "weight"
    declared: frozenset[str] = frozenset()

    @property
    def notes(self) -> frozenset[str]:
        return self.declared

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        alloc, state = super().decide(view, state, rng)
        return replace(alloc, notes={self.name: Noted("sender", torch.arange(view.senders).double())}), state


def noting(name: str, *declared: str) -> Noting:
    return Noting(effort(2, None), name, frozenset(declared))


def test_a_note_with_a_name_of_its_own_is_recorded() -> None:
    sim = tiny(policy=noting("weight", "weight"))
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.notes["weight"].values == [0, 1, 2, 3, 4, 5]


def test_a_note_of_two_parts_is_refused_before_the_run() -> None:
    """OSAFL notes the weight of every client; the policy's note would be replaced by it."""
    with pytest.raises(SpecError) as caught:
        tiny(policy=noting("weight", "weight"), algorithm=osafl())
    (problem,) = caught.value.problems
    assert problem.path == "hops.0.policy"
    assert "'weight'" in problem.reason
    assert "algorithm" in problem.reason


@pytest.mark.parametrize("name", ["fresh", "state_lost", "clipped"])
def test_notes_on_data_clients_and_codes_have_their_names(name: str) -> None:
    hop = Hop(ideal(), noting(name, name), transforms=(clip(norm=1.0),))
    with pytest.raises(SpecError) as caught:
        simulate(SIX, [(hop, None)])
    (problem,) = caught.value.problems
    assert problem.path == ("hops.0.transforms.0" if name == "clipped" else "hops.0.policy")


def test_a_note_of_the_loss_has_its_name() -> None:
    with pytest.raises(SpecError) as caught:
        tiny(policy=noting("pseudo_accuracy", "pseudo_accuracy"), algorithm=fedcpsl(), unlabelled=0.5)
    assert [problem.path for problem in caught.value.problems] == ["hops.0.policy"]


def test_an_undeclared_note_is_refused_by_name() -> None:
    sim = tiny(policy=noting("speed", "weight"))
    with pytest.raises(OwnCodeError, match=r"hops\.0\.policy, Noting: speed"):
        run_round(sim, begin(sim), evaluate=False)


class Measuring(Transform):
    """Payloads as they are, with a note that it does not declare."""

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        return Coded(sent.payload, notes={"size": Noted("active", torch.ones(len(sent.ids)))})


class Loud(Ideal):
    """An ideal link with a note that it does not declare."""

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        delivery, state = super().combine(x, airtime, sent, state, rng)
        return replace(delivery, notes={"volume": Noted("receiver", torch.ones(x.receivers))}), state


def test_undeclared_notes_of_transforms_and_links_are_refused() -> None:
    sim = tiny()
    measuring = replace(sim, hops=(replace(sim.hops[0], transforms=(Measuring(),)),))
    with pytest.raises(OwnCodeError, match=r"hops\.0\.transforms\.0, Measuring: size"):
        run_round(measuring, begin(measuring), evaluate=False)
    loud = tiny(link=Loud(32.0))
    with pytest.raises(OwnCodeError, match=r"hops\.0\.link, Loud: volume"):
        run_round(loud, begin(loud), evaluate=False)


@dataclass(frozen=True)
class Publishing(FedAvg):
    """Averaging that publishes one signal of every client, and declares these names."""

    name: str = "trust"
    declared: frozenset[str] = frozenset()

    @property
    def publishes(self) -> frozenset[str]:
        return self.declared

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        merged = super().merge(held, delivery, info)
        return replace(merged, published={self.name: torch.ones(len(info.parent))})


@pytest.mark.parametrize("name", ["labelled", "loss", "start_seen", "steps"])
def test_a_signal_of_the_data_or_the_work_is_not_published_by_an_algorithm(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        tiny(algorithm=Publishing(name=name, declared=frozenset({name})))
    assert {problem.path for problem in caught.value.problems} == {"algorithm"}


def test_an_undeclared_signal_is_refused_by_name() -> None:
    sim = tiny(algorithm=Publishing())
    with pytest.raises(OwnCodeError, match="algorithm, Publishing: trust"):
        run_round(sim, begin(sim), evaluate=False)
