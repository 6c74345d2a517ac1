"""Bounds, shares and errors of the air before a run."""

import pytest
import torch
from support.exchanges import realised
from support.studies import study
from support.whfl import FLAT, planned

from fedradio.core.errors import SpecError
from fedradio.network.power_law import power_law
from fedradio.papers.studies.air import expected_error, is_air, shares, unforeseen
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec
from fedradio.theory.whfl import Printed, figure_4, loss_33


def test_bound_without_errors_by_hand() -> None:
    """``L/2 (X d + Y)`` from ``d = 1000`` with eta = .05: X = .95, Y = .0025."""
    found = study("bound", load_spec("whfl/mnist/iid/ideal", ["rounds=3", "data.source=digits"]))
    assert found["x"] == [0, 1, 2, 3]
    assert found["y"][:2] == pytest.approx([5000.0, 5 * (0.95 * 1000 + 0.0025)])
    assert found["last"] == found["y"][-1]


def test_bound_over_two_hops_of_air() -> None:
    spec = load_spec("whfl/mnist/iid/i4", ["rounds=5", "data.source=digits"])
    found = study("bound", spec)
    assert found["x"] == [0, 4, 8, 12, 16, 20]
    topology = build(spec).topology
    near, far = realised(power_law(), topology).gain, realised(power_law(), topology, hop=1).gain[0]
    eta, amplitude, edge = figure_4(5)
    printed = loss_33(Printed(near, far, iterations=4, d=650), eta, amplitude, edge)
    assert torch.tensor(found["y"]).double().allclose(printed)


def test_no_bound_of_one_hop_of_air() -> None:
    with pytest.raises(SpecError, match="two hops of air"):
        study("bound", load_spec("whfl/mnist/iid/flat", ["data.source=digits"]))


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
