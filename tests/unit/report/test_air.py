import pytest
import torch

from fedradio.papers.studies.air import expected_error, is_air, shares, unforeseen
from fedradio.report.terminal.air import error_table, shares_table
from fedradio.rounds.exchange import Planned, plan_slots
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


def planned(*overrides: str) -> tuple[Simulation, Planned]:
    sim = build(load_spec("whfl", list(overrides)))
    return sim, next(iter(plan_slots(sim, begin(sim), 1)))


FLAT = (
    "topology.flat=true",
    "hops=[{link: over_the_air, channel: power_law, policy: {kind: ramp, scale: 0.5, steps: 1}}]",
)


@pytest.mark.parametrize("overrides", [(), FLAT])
def test_shares_and_error(overrides: tuple[str, ...]) -> None:
    sim, plan = planned(*overrides)
    assert is_air(sim)
    share = shares(sim, plan)
    assert float(share.sum()) == pytest.approx(1.0)
    error = expected_error(sim, plan)
    assert error.noise > 0
    assert (error.edge_noise > 0) == (not overrides)
    # independent payloads of power 1 in I iterations: the bias is I |share - 1/U|^2
    assert error.bias == pytest.approx(sim.hops[0].period * float((share - 1 / 20).square().sum()))
    assert shares_table(sim, plan).row_count == 4
    assert error_table(sim, plan).row_count >= 4


def test_flat_and_clustered_clients_stand_in_the_same_places() -> None:
    (clustered, _), (flat, _) = planned(), planned(*FLAT)
    assert torch.equal(clustered.topology.positions[0], flat.topology.positions[0])
    assert torch.equal(clustered.topology.cells, flat.topology.cells)
    assert flat.topology.hops == 1


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["hops.0.link.normaliser=sum"], "sum"),
        (["hops.0.policy={kind: sampling, clients: 2, steps: 1}"], "not all clients"),
        (["data.partition={kind: dirichlet, alpha: 0.3}", "algorithm=fedavg"], "by samples"),
        ([], ""),
    ],
)
def test_what_cannot_be_told_before_the_run(overrides: list[str], words: str) -> None:
    reason = unforeseen(*planned(*overrides))
    assert words in reason
    assert bool(reason) == bool(words)


def test_other_links_have_no_shares_of_the_air() -> None:
    assert not is_air(build(load_spec("demo")))
