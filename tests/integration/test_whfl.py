"""Over the air end to end: which algorithms run on it, what the records say, what is refused."""

from typing import Any

import pytest
import torch
from support.whfl import FLAT, planned

from fedradio.core.errors import SpecError
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def small(*overrides: str) -> Spec:
    return load_spec("whfl", ["rounds=3", *overrides])


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "fednova", "scaffold"])
def test_algorithms_run_over_the_air_unchanged(algorithm: str) -> None:
    sim = build(small(f"algorithm={algorithm}", "rule={kind: sgd, lr: 0.3, batch: 50}", "hops.0.policy.steps=5"))
    state = begin(sim)
    for _ in range(5):
        state, record, exchanges = run_round(sim, state)
    assert record.metrics["accuracy"] > (0.4 if algorithm == "scaffold" else 0.6)  # noisy variates
    uses = {"scaffold": 2 * 325}.get(algorithm, 325)
    assert {exchange.uses for exchange in exchanges} == {float(uses)}


def test_records_split_the_error_and_count_what_clients_are_worth() -> None:
    sim = build(small())
    _, record, exchanges = run_round(sim, begin(sim))
    assert [exchange.hop for exchange in exchanges] == [0, 0, 0, 0, 1]
    for exchange in exchanges:
        assert exchange.notes.keys() >= {"bias", "fading", "intra", "inter", "noise", "tx_power"}
        assert all(value > 0 for value in exchange.notes["noise"].values)
    assert all(1 <= worth < 5 for worth in exchanges[0].effective)
    assert record.bits == [None, None]
    assert record.energy_j is None
    assert sim.warnings == ()


def test_a_symbol_rate_gives_seconds_and_a_unit_joules() -> None:
    air = "{kind: over_the_air, symbol_rate_hz: 1e6, power_unit_w: 1e-3}"
    sim = build(small(f"hops.0.link={air}", f"hops.1.link={air}", "hops.0.fleet=cellular"))
    _, record, exchanges = run_round(sim, begin(sim))
    assert record.tx_j[0] is not None
    assert record.tx_j[0] > 0
    assert exchanges[0].power_w is None
    assert record.time_s is not None
    assert record.time_s > 5 * 325e-6


@pytest.mark.parametrize(
    ("overrides", "where", "words"),
    [
        (["algorithm=osafl", "rule=sgd"], "hops.0.link", "a link that does: digital, ideal"),
        (["algorithm={kind: fedavg, normalise: inverse}"], "hops.0.link", "needs individual"),
        (["hops.0.channel={kind: urban_macro, fading: rayleigh}"], "hops.0.channel", "this link supports fresh, none"),
        (["hops.0.link.antennas=0"], "hops.0.link.antennas", "greater than or equal to 1"),
        (["hops.0.channel.noise_symbol=-1"], "hops.0.channel.noise_symbol", "greater than or equal to 0"),
        (["topology.clients_per_cluster=0"], "topology.clients_per_cluster", "greater than or equal to 1"),
        (["topology.client_distance=[0, 0]"], "topology", "sender 0 is at the position of receiver 0"),
        (["hops.0.policy=joint"], "hops.0.policy", "rate"),
    ],
)
def test_refusals(overrides: list[str], where: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(small(*overrides))
    problems: list[Any] = [p for p in caught.value.problems if p.path.startswith(where)]
    assert any(words in f"{p.path} {p.reason} {p.remedy}" for p in problems), caught.value.problems


def test_variates_over_the_air_are_warned_about() -> None:
    sim = build(small("algorithm=scaffold", "rule=sgd"))
    assert any("control variates over the air" in warning for warning in sim.warnings)


def test_flat_and_clustered_clients_stand_in_the_same_places() -> None:
    (clustered, _), (flat, _) = planned(), planned(*FLAT)
    assert torch.equal(clustered.topology.positions[0], flat.topology.positions[0])
    assert torch.equal(clustered.topology.cells, flat.topology.cells)
    assert flat.topology.hops == 1
