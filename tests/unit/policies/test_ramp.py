import pytest
import torch
from support.exchanges import exchange
from support.worlds import cells

from fedradio.core.contracts import Clock, Hop, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.network.channel import urban_macro
from fedradio.policies.fixed import fixed
from fedradio.policies.ramp import ramp
from fedradio.rounds.round import begin, run_round


def view(t: int) -> View:
    signals, fleet = {"epoch_steps": torch.arange(1, 5)}, cellular(4, Rng(0))
    return exchange([0, 0, 1, 1], clock=Clock(t), link=over_the_air(), fleet=fleet, signals=signals)


def test_hand_computed_amplitudes() -> None:
    """The first round has t = 1: P = 1.01; the hundredth 2; edges twenty times that."""
    for policy, t, expected in ((ramp(), 0, 1.01), (ramp(), 99, 2.0), (ramp(scale=20), 99, 40.0)):
        alloc, _ = policy.decide(view(t), {}, Rng(0))
        assert alloc.amplitude is not None
        assert alloc.amplitude.tolist() == pytest.approx([expected] * 4)
        assert alloc.power_w is None
        assert bool(alloc.active.all())


@pytest.mark.parametrize(("scale", "rounds", "expected"), [(0.5, 400, 2.59), (1.0, 200, 4.35), (1.0, 100, 2.35)])
def test_mean_power_of_the_papers_runs(scale: float, rounds: int, expected: float) -> None:
    """400 cluster iterations: I = 1 at low power, I = 2, I = 4."""
    squares = [ramp(scale=scale).amplitude(t) ** 2 for t in range(rounds)]
    assert sum(squares) / rounds == pytest.approx(expected, rel=0.005)


def test_local_work_is_that_of_fixed() -> None:
    for keywords in ({}, {"steps": 3}, {"steps": (1, 9)}, {"epochs": 2}):
        ours, _ = ramp(**keywords).decide(view(4), {}, Rng(7))  # type: ignore[arg-type]
        plain, _ = fixed(**keywords).decide(view(4), {}, Rng(7))  # type: ignore[arg-type]
        assert torch.equal(ours.steps, plain.steps)
    with pytest.raises(SpecError, match="keep one"):
        ramp(steps=1, epochs=1)


def test_an_amplitude_of_nothing_is_refused() -> None:
    for keywords in ({"start": 0.0, "slope": 0.0}, {"scale": 1e-300}):
        with pytest.raises(SpecError, match="nothing would be received"):
            ramp(**keywords)
    assert ramp(start=0, slope=0.5).amplitude(1) == 1.0


def test_a_link_with_powers_of_its_own_is_refused() -> None:
    with pytest.raises(SpecError, match=r"amplitude.*ideal, over_the_air") as caught:
        cells(above=Hop(digital(), ramp(), urban_macro()), fleet_above=cellular)
    assert [problem.path for problem in caught.value.problems] == ["hops.1.policy"]


def test_over_an_ideal_link_the_amplitude_changes_nothing() -> None:
    """Two hops of ideal links: the same model after a round as with ``fixed``."""
    rows = []
    for policy, outer in ((ramp(steps=2, slope=3.0), ramp(scale=20.0)), (fixed(steps=2), fixed())):
        sim = cells(policy=policy, above=Hop(ideal(), outer))
        state, _, _ = run_round(sim, begin(sim))
        rows.append(state.memory.shared["w"])
    assert torch.equal(*rows)
