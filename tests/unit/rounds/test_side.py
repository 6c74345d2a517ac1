"""Norm layers on the side channel: averaged with the weights of the payload, counted, and what is evaluated."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from fedradio.core.rng import Rng
from fedradio.models.model import wrap
from fedradio.rounds.cohort import LOCAL
from fedradio.rounds.norm_layers import merge_norms
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import NORMS, open_round
from fedradio.spec.build import build
from fedradio.spec.spec import Spec


def with_norms(spec: Spec, norms: str) -> Simulation:
    first, second = nn.Linear(64, 12), nn.Linear(12, 10)
    module = nn.Sequential(nn.Flatten(), first, nn.BatchNorm1d(12), nn.ReLU(), second)
    for layer in (first, second):
        nn.init.uniform_(layer.weight, -0.2, 0.2, generator=Rng(1).torch())
        nn.init.zeros_(layer.bias)
    sim = build(spec)
    return replace(sim, model=wrap(module, sim.stream.shape, 10, norms))  # type: ignore[arg-type]


def test_mean_by_hand(cells: Callable[..., Spec]) -> None:
    """Edge 0 hears 2 (weight .25) and 6 (weight .75), edge 1 nobody: 5, and what it had."""
    sim = with_norms(cells(), "shared")
    work = open_round(sim, begin(sim))
    work.norms[0] = torch.tensor([[1.0], [9.0]])
    merge_norms(work, 0, torch.tensor([[2.0], [6.0]]), torch.tensor([0.5, 1.5]).double(), torch.tensor([0, 0]))
    assert torch.equal(work.norms[0], torch.tensor([[5.0], [9.0]]))


def test_it_travels_and_is_counted(cells: Callable[..., Spec]) -> None:
    sim = with_norms(cells(), "shared")
    state = begin(sim)
    assert LOCAL not in state.memory.client
    start = state.memory.shared[NORMS].clone()
    assert start.tolist() == [1.0] * 12 + [0.0] * 12 + [0.0] * 12 + [1.0] * 12
    for _ in range(3):
        state, record, _ = run_round(sim, state)
    assert not torch.equal(state.memory.shared[NORMS], start)
    payload = 32.0 * (64 * 12 + 12 + 12 * 10 + 10)
    side = 32.0 * 48
    assert record.bits == pytest.approx([2 * 6 * (payload + side), 2 * (payload + side)])
    assert record.metrics["accuracy"] > 0.3


def test_local_norms_stay_where_they_are(cells: Callable[..., Spec]) -> None:
    sim = with_norms(cells(), "local")
    state, _, _ = run_round(sim, begin(sim))
    assert NORMS not in state.memory.shared
    assert state.memory.client[LOCAL].shape == (6, 48)


def test_one_edge_with_period_one_is_flat(tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    flat = with_norms(tiny("algorithm.weighting=equal"), "shared")
    one = with_norms(
        cells(
            "algorithm.weighting=equal",
            "topology={kind: hierarchical, edges: 1, clients_per_edge: 6}",
            "hops.0.period=1",
        ),
        "shared",
    )
    a, b = run_round(flat, begin(flat))[0], run_round(one, begin(one))[0]
    for name in ("w", NORMS):
        assert torch.allclose(a.memory.shared[name], b.memory.shared[name], atol=1e-6)
