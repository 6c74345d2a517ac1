"""Vectors, clocks and masses of every tier."""

from dataclasses import replace

import pytest
import torch
from support.worlds import cells

from fedradio.rounds.round import begin, run_round


def test_edges_without_news_stay_silent() -> None:
    sim = cells(deadline_s=1e-9)
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    last = exchanges[-1]
    assert last.hop == 1
    assert (last.ids, last.rest, last.idle) == ([], "no_news", {})
    assert record.bits[1] == 0.0
    assert record.time_s == pytest.approx(2e-9)  # two edge rounds of waiting for the deadline
    assert torch.equal(state.memory.shared["w"], begin(sim).memory.shared["w"])


def test_three_hops_equal_two_when_the_middle_is_single() -> None:
    """Clients -> edges -> one hub -> server: the hub only passes on."""
    two = cells()
    topology = two.topology
    hub = torch.zeros(1, 2, dtype=torch.float64)
    deeper = replace(
        topology,
        parents=(*topology.parents, torch.zeros(1, dtype=torch.long)),
        positions=(*topology.positions[:2], hub, topology.positions[-1]),
    )
    three = replace(two, topology=deeper, hops=(*two.hops, two.hops[1]))
    a, b = run_round(two, begin(two)), run_round(three, begin(three))
    assert torch.allclose(a[0].memory.shared["w"], b[0].memory.shared["w"], rtol=1e-5, atol=1e-7)
    assert a[1].time_s == pytest.approx(b[1].time_s)
    assert len(b[1].bits) == 3
