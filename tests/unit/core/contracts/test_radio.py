"""Topologies and views: who reports to whom."""

from dataclasses import dataclass, fields

import pytest
import torch
from support.exchanges import everyone, exchange

from fedradio.core.contracts import Allocation, ChannelState, Clock, Exchange, Message, Policy, Slots, Topology, View
from fedradio.core.errors import OwnCodeError
from fedradio.core.rng import Rng
from fedradio.links.ideal import Ideal, ideal
from fedradio.links.over_the_air import over_the_air


def three_tiers() -> Topology:
    """Three clients, two edges, one server."""
    places = tuple(torch.arange(2.0 * n).view(n, 2) for n in (3, 2, 1))
    return Topology((torch.tensor([0, 1, 1]), torch.tensor([0, 0])), places)


def test_tiers_are_counted() -> None:
    found = three_tiers()
    assert (found.hops, found.clients) == (2, 3)
    assert [found.senders(h) for h in (0, 1)] == [3, 2]
    assert [found.receivers(h) for h in (0, 1)] == [2, 1]


def test_the_site_of_a_hop() -> None:
    found, clock = three_tiers(), Clock(1)
    site = found.site(1, clock)
    assert site.receivers_m is found.positions[2]
    assert site.senders_m is found.positions[1]
    assert site.parent is found.parents[1]
    assert site.clock is clock


class Silent(Ideal):
    """A link that promises rates and gives none."""

    offers = frozenset({"individual", "rate"})


def test_a_link_that_offers_rates_gives_them() -> None:
    assert exchange(link=ideal()).rates is None
    with pytest.raises(OwnCodeError, match=r"hops\.0\.link, Silent: offers 'rate', but its rates\(view\) returns None"):
        _ = exchange(link=Silent(32.0)).rates


def test_noise_is_a_density_or_that_of_a_symbol() -> None:
    gain = torch.ones(1, 2)
    assert ChannelState(gain, 3.0).noise == 3.0
    with pytest.raises(ValueError, match="per symbol"):
        _ = ChannelState(gain, noise_symbol=5.0).noise
    for wrong in ({}, {"noise_w_hz": 1.0, "noise_symbol": 1.0}):
        with pytest.raises(ValueError, match="either"):
            ChannelState(gain, **wrong)


def test_power_is_the_gain_times_the_mean_fading_of_the_antennas() -> None:
    """|3+4j|^2 = 25 and |1|^2 = 1 at two antennas: 13 times the gain."""
    gain = torch.tensor([[2.0]])
    assert ChannelState(gain, 1.0).power is gain
    assert ChannelState(gain, 1.0, coefficient=torch.tensor([[[3 + 4j], [1 + 0j]]])).power.tolist() == [[26.0]]


def test_a_view_counts_its_senders() -> None:
    x = exchange([0, 1, 1])
    assert x.senders == 3
    assert x.able is None


def test_bits_of_a_view_are_those_of_its_message_on_its_link() -> None:
    assert exchange([0], link=ideal(bits_per_value=3), message=Message(2, 5)).payload_bits == 30
    assert exchange([0], link=over_the_air(), message=7).payload_bits is None


def test_an_exchange_is_the_view_with_the_decision() -> None:
    """Every field of the view is handed on as it is."""
    seen = exchange([0, 1, 1], deadline_s=3.0, hop=1, unable=torch.zeros(3), signals={"loss": torch.zeros(3)})
    view = View(**{entry.name: getattr(seen, entry.name) for entry in fields(View)})
    alloc, ready = everyone(3, active=[True, False, True]), torch.zeros(3)
    x = Exchange.of(view, alloc, ready)
    assert x.alloc is alloc
    assert x.ready_s is ready
    assert all(getattr(x, entry.name) is getattr(view, entry.name) for entry in fields(View))


@dataclass(frozen=True)
class Nobody(Policy):
    """A policy that says nothing but its decision."""

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        return everyone(view.senders, active=[False] * view.senders), state


def test_parts_begin_with_neutral_defaults() -> None:
    policy = Nobody()
    assert (policy.needs, policy.reads, policy.everyone) == (frozenset(), frozenset(), False)
    assert policy.check(torch.zeros(2).long(), 1) == ""
    assert policy.start(2) == {}
    assert ideal().start(2, 1) == {}
