"""Memory of parts: where it is kept, that it is handed on from exchange to exchange, and comes back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from support.exchanges import everyone
from support.worlds import after, cells, tiny

from fedradio.core.contracts import (
    Airtime,
    Allocation,
    Channel,
    ChannelState,
    Delivery,
    Exchange,
    Hop,
    Policy,
    Sent,
    Site,
    Slots,
    View,
)
from fedradio.core.mapped import write_rows
from fedradio.core.rng import Rng
from fedradio.links.ideal import Ideal, ideal
from fedradio.policies.fixed import fixed
from fedradio.receivers.momentum import momentum
from fedradio.rounds.parts import STREAM, of_hop, of_transform, recall, remember, start_parts
from fedradio.rounds.round import begin, run_round
from fedradio.transforms.feedback import feedback
from fedradio.transforms.sparsify import top_k


@dataclass(frozen=True)
class CountingPolicy(Policy):
    """Everybody takes part; it counts its decisions, per sender."""

    def start(self, senders: int) -> Slots:
        return {"n": torch.zeros(1).expand(senders)}

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        return everyone(view.senders), {"n": state["n"] + 1}


@dataclass(frozen=True)
class CountingLink(Ideal):
    """The ideal link; it counts exchanges per sender, in place, and its plans must see what was counted."""

    bits_per_value: float | None = 32.0

    def start(self, senders: int, receivers: int) -> Slots:
        return {"sent": torch.zeros(1).expand(senders), "heard": torch.zeros(receivers)}

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        assert float(state["sent"].max()) == x.clock.n
        return super().plan(x, state, rng)

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        write_rows(state["sent"], sent.ids, state["sent"][sent.ids] + 1)
        delivery, _ = super().combine(x, airtime, sent, state, rng)
        return delivery, state | {"heard": state["heard"] + 1}


@dataclass(frozen=True)
class CountingChannel(Channel):
    """All gains are 1; it counts its realisations, per pair of sender and receiver."""

    def start(self, senders: int, receivers: int, rng: Rng) -> Slots:
        return {"n": torch.zeros(receivers, senders)}

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        assert float(state["n"].max()) == site.clock.n
        return ChannelState(torch.ones(len(site.receivers_m), len(site.senders_m)), 1.0), {"n": state["n"] + 1}


def test_every_part_with_memory_has_its_path() -> None:
    plain, counting = cells(), cells(policy=CountingPolicy(), link=CountingLink(), channel=CountingChannel())
    w = torch.zeros(plain.model.shared.size)
    assert list(start_parts(plain, w)) == [STREAM] == ["data.stream"]
    parts = start_parts(counting, w)
    assert list(parts) == ["data.stream", "hops.0.policy", "hops.0.link", "hops.0.channel"]
    assert parts["hops.0.link"]["sent"].is_contiguous()  # rows of their own, however they were made
    assert recall(parts, of_hop(1, "link")) == {}


def test_transforms_and_receiver_rules_have_paths_too() -> None:
    """Rows of every sender of the hop, and of every receiver."""
    sim = cells()
    first = replace(sim.hops[0], transforms=(top_k(), feedback()), receiver=momentum())
    second = replace(sim.hops[1], transforms=(feedback(),))
    sim = replace(sim, hops=(first, second))
    d = sim.model.shared.size
    parts = start_parts(sim, torch.zeros(d))
    assert list(parts) == ["data.stream", "hops.0.receiver", "hops.0.transforms.1", "hops.1.transforms.0"]
    assert parts[of_hop(0, "receiver")]["v"].shape == (2, d)
    assert parts[of_transform(0, 1)]["error"].shape == (6, 1, d)
    assert parts[of_transform(1, 0)]["error"].shape == (2, 1, d)
    assert parts[of_transform(0, 1)]["error"].is_contiguous()


def test_empty_memory_gets_no_key() -> None:
    before = replace(begin(tiny()), parts={"hops.0.link": {"n": torch.zeros(1)}})
    assert remember(before, of_hop(0, "policy"), {}) is before
    later = remember(before, of_hop(0, "policy"), {"n": torch.ones(1)})
    assert list(later.parts) == ["hops.0.link", "hops.0.policy"]
    assert list(before.parts) == ["hops.0.link"]  # values are returned, not written


def test_memory_is_handed_on_from_exchange_to_exchange() -> None:
    """Two edge rounds a round, three rounds: six exchanges of hop 0, three of hop 1."""
    above = Hop(CountingLink(), fixed(), CountingChannel())
    sim = cells(policy=CountingPolicy(), link=CountingLink(), channel=CountingChannel(), above=above)
    parts = after(sim, rounds=3).parts
    assert parts["hops.0.policy"]["n"].tolist() == [6] * 6
    assert parts["hops.0.link"]["sent"].tolist() == [6] * 6
    assert parts["hops.0.link"]["heard"].tolist() == [6] * 2
    assert parts["hops.0.channel"]["n"].tolist() == [[6] * 6] * 2
    assert parts["hops.1.link"]["sent"].tolist() == [3] * 2
    assert parts["hops.1.channel"]["n"].tolist() == [[3] * 2]


def test_memory_changes_no_result() -> None:
    counting = tiny(policy=CountingPolicy(), link=CountingLink(), channel=CountingChannel())
    plain = replace(counting, hops=(Hop(ideal(), CountingPolicy()),))
    assert torch.equal(after(counting).memory.shared["w"], after(plain).memory.shared["w"])


def test_a_state_remembers_the_receivers_own_rows() -> None:
    """They pass through rounds untouched by averaging, and are counted nowhere."""
    sim = tiny()
    state = begin(sim)
    own = {"v": torch.ones(1, 3)}
    state = replace(state, memory=replace(state.memory, receiver=own))
    later, record, _ = run_round(sim, state)
    assert later.memory.receiver["v"].tolist() == [[1, 1, 1]]
    assert record.bits == run_round(sim, begin(sim))[1].bits
