"""Bounds, shares and errors of the air before a run."""

import pytest
import torch
from support.exchanges import realised
from support.studies import study
from support.whfl import FLAT, planned

from fedradio.core.errors import SpecError
from fedradio.network.power_law import power_law
from fedradio.papers.studies.air import expected_error, is_air, noise_text, shares, unforeseen
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
    printed = loss_33(Printed(near, far, iterations=4, d=650), eta, amplitude, 2 * edge)  # its edges send with 20 P_t
    assert torch.tensor(found["y"]).double().allclose(printed)


def test_bound_over_one_hop_of_air_with_the_power_of_the_spec() -> None:
    spec = load_spec("whfl/mnist/iid/flat", ["rounds=5", "data.source=digits"])
    straight = realised(power_law(), build(spec).topology).gain
    eta, amplitude, _ = figure_4(5)
    setting = Printed(straight, torch.ones(1), d=650)
    assert study("bound", spec)["y"] == pytest.approx(loss_33(setting, eta, 0.5 * amplitude).tolist())


def test_bound_of_two_hops_without_errors() -> None:
    """Two cluster iterations a round: ``X = 1 - 2 eta``, ``Y = 2 eta^2``."""
    found = study("bound", load_spec("whfl/mnist/iid/ideal_i2", ["rounds=1", "data.source=digits"]))
    assert found["x"] == [0, 2]
    assert found["y"] == pytest.approx([5000.0, 5 * (0.9 * 1000 + 0.005)])


def test_no_bound_of_other_links() -> None:
    with pytest.raises(SpecError, match="one or two hops"):
        study("bound", load_spec("whfl", ["rounds=1", "hops.1.link=ideal"]))
    with pytest.raises(SpecError, match="a fixed number of local steps"):
        study("bound", load_spec("whfl", ["rounds=1", "hops.0.policy.steps=[1, 3]"]))


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
        (["hops.0.policy={kind: sampling, clients: 2, steps: 1}"], "not all clients"),
        (["data.partition={kind: dirichlet, alpha: 0.3}", "algorithm=fedavg"], "by samples"),
        ([], ""),
    ],
)
def test_what_cannot_be_told_before_the_run(overrides: list[str], words: str) -> None:
    reason = unforeseen(*planned(*overrides))
    assert words in reason
    assert bool(reason) == bool(words)


def test_error_with_the_printed_sum() -> None:
    """One hop of 20 clients: a twentieth of the estimate, a 400th of its variance."""
    mean, printed = (expected_error(*planned(*FLAT, f"hops.0.link.normaliser={name}")) for name in ("mean", "sum"))
    assert printed.variance == pytest.approx(mean.variance / 400)


def test_noise_in_words() -> None:
    sim, _ = planned()
    assert noise_text(sim) == "noise 10 a symbol"
    air = "{kind: over_the_air, symbol_rate_hz: 1e6, power_unit_w: 1e-3}"
    ratio, _ = planned(f"hops.0.link={air}")
    assert noise_text(ratio) == "noise 10 a symbol, a density of 1e-08 W/Hz"
    density, _ = planned(f"hops.0.link={air}", "hops.0.channel.noise_w_hz=4e-9")
    assert noise_text(density) == "noise 4 a symbol, a density of 4e-09 W/Hz"


def test_other_links_have_no_shares_of_the_air() -> None:
    assert not is_air(build(load_spec("demo")))
