"""Requests of an edge round slot by slot, and forecasts in every state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chi2
from support.worlds import requesting

from fedradio.algorithms.apfl import apfl
from fedradio.core.contracts import Cache, RequestStream
from fedradio.core.rng import Rng
from fedradio.data.streams import arrivals_rng
from fedradio.placements.kinds import predicted
from fedradio.rounds.forecasting import Foreseen, drawn_slots, slot_requests, top_shares
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.round import begin
from fedradio.rounds.tiers import start_tiers


def test_slots_are_a_uniform_subset_of_the_first_ones() -> None:
    count, chances = np.array([0, 2, 3, 1]), np.array([4, 4, 3, 2])
    drawn = np.stack([drawn_slots(count, chances, Rng(seed)) for seed in range(600)])
    assert (drawn.sum(axis=2) == count).all()
    assert not drawn[:, 2:, 3].any()
    assert not drawn[:, 3, 2:].any()
    pairs = np.unique(drawn[:, 1], axis=0, return_counts=True)[1]  # 2 of 4 slots: six subsets
    assert len(pairs) == 6
    assert chi2.sf(((pairs - 100) ** 2 / 100).sum(), 5) > 1e-3


def test_states_files_and_order() -> None:
    sim = requesting(slots=3)
    stream = sim.stream
    assert isinstance(stream, RequestStream)
    before, clock = stream.start(), sim.clock(0, 0)  # type: ignore[attr-defined]
    after = sim.stream.arrive(before, clock, arrivals_rng(sim.rng, clock))
    requests = slot_requests(stream, before, after, clock, Rng(1))
    asked = stream.asked(before, after)
    assert requests.slots == 3
    made = {c: [] for c in range(6)}  # type: ignore[var-annotated]
    for slot in range(3):
        client, file = requests.of(slot)
        assert client.tolist() == sorted(client.tolist())
        for c, n in zip(client.tolist(), file.tolist(), strict=True):
            made[c].append(n)
            assert int(requests.number[requests.row[slot, c]]) == int(asked[c][requests.done(slot)[c]])
    for c, numbers in enumerate(asked):
        assert made[c] == stream.fetch(numbers)[1].tolist()
    last = requests.row[-1] + requests.made[-1]
    assert requests.number[torch.from_numpy(last)].equal(stream.ahead(after))
    assert requests.open(0).all()


def test_who_is_at_the_end_of_its_tape_is_left_out() -> None:
    sim = requesting()
    stream = sim.stream
    assert isinstance(stream, RequestStream)
    end = {"lo": torch.zeros(6, dtype=torch.int64), "hi": torch.tensor([200, 200, 199, 20, 20, 20])}
    before = {**end, "hi": end["hi"] - torch.tensor([0, 1, 0, 0, 0, 0])}
    requests = slot_requests(stream, before, end, sim.clock(0, 0), Rng(0))
    assert requests.open(0).tolist() == [False, True, True, True, True, True]
    state = begin(sim)
    foreseen = Foreseen(sim, Cache((predicted(),)), state, start_tiers(sim.topology, state.memory), requests, [0, 1])
    for by in ("law", "model"):
        sums = foreseen.forecast(by, 0).sum(dim=1)  # type: ignore[arg-type]
        assert sums.tolist() == pytest.approx([0, 1, 1, 1, 1, 1])
    told = Foreseen(sim, Cache((predicted(),), sharing="top", top=2), state, foreseen.tiers, requests, [0, 1])
    assert (told.forecast("model", 0) > 0).sum(dim=1).tolist() == [0, 2, 2, 2, 2, 2]
    assert told.forecast("law", 0).equal(foreseen.forecast("law", 0))  # nobody tells the law


def test_who_has_fewer_chances_has_the_first_slots() -> None:
    sim = requesting(slots=3)
    before = sim.stream.start()
    assert isinstance(sim.stream, RequestStream)
    requests = slot_requests(sim.stream, before, before, sim.clock(0, 0), Rng(0))
    fewer = replace(requests, chances=np.array([3, 2, 1, 0, 3, 3]))
    assert [fewer.open(slot).tolist() for slot in range(3)] == [
        [True, True, True, False, True, True],
        [True, True, False, False, True, True],
        [True, False, False, False, True, True],
    ]


def test_every_client_runs_the_model_of_its_own_edge() -> None:
    sim = requesting()
    state = begin(sim)
    edges, *above = start_tiers(sim.topology, state.memory)
    w = edges.shared["w"]
    other = w[1] + 0.1 * torch.randn(w.shape[1], generator=Rng(1).torch())
    tiers = (replace(edges, shared={"w": torch.stack([w[0], other])}), *above)
    stream = sim.stream
    assert isinstance(stream, RequestStream)
    before = recall(state.parts, STREAM)
    requests = slot_requests(stream, before, before, sim.clock(0, 0), Rng(0))
    foreseen = Foreseen(sim, Cache((predicted(),)), state, tiers, requests, [0])
    x, _ = stream.fetch(stream.ahead(before))
    for c in range(6):
        row = tiers[0].shared["w"][int(sim.topology.parents[0][c])]
        expected = sim.model.apply(row, x[c : c + 1]).softmax(dim=1)[0].double()
        assert foreseen.forecast("model", 0)[c].tolist() == pytest.approx(expected.tolist(), abs=1e-7)


def test_personal_models_predict_as_they_do_in_evaluation() -> None:
    """Of an algorithm with models of the clients' own, each client mixes its own in."""
    sim = requesting(algorithm=apfl())
    state = begin(sim)
    own = state.memory.client
    name = next(key for key, rows in own.items() if rows.shape[1:] == (sim.model.shared.size,))
    own[name][2] += 1.0
    stream = sim.stream
    assert isinstance(stream, RequestStream)
    before = recall(state.parts, STREAM)
    requests = slot_requests(stream, before, before, sim.clock(0, 0), Rng(0))
    foreseen = Foreseen(sim, Cache((predicted(),)), state, start_tiers(sim.topology, state.memory), requests, [0])
    table = foreseen.forecast("model", 0)
    ensemble = next(iter(sim.algorithm.predict({"w": state.memory.shared["w"][None]}, own).values()))
    x, _ = stream.fetch(stream.ahead(before))
    for c in range(6):
        rows = [member[c if len(member) > 1 else 0] for member in ensemble.members]
        weights = [float(weight[c]) if isinstance(weight, torch.Tensor) else weight for weight in ensemble.weight]
        mixed = sum(a * sim.model.apply(row, x[c : c + 1]).softmax(1)[0] for a, row in zip(weights, rows, strict=True))
        assert isinstance(mixed, torch.Tensor)
        assert table[c].tolist() == pytest.approx(mixed.tolist(), abs=1e-6)


def test_top_shares_by_hand() -> None:
    told = top_shares(torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64), 2)
    assert told[0].tolist() == pytest.approx([0.5, 0.3, 0], abs=1e-5)
    steps = told * (2**16 - 1)  # a share has 16 bits
    assert steps.tolist() == steps.round().tolist() == [[32768, 19660, 0]]
    assert top_shares(torch.full((1, 2), 0.5), 9).sum() == pytest.approx(1, abs=1e-4)
