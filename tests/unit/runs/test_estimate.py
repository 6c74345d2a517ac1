"""How long a run will take."""

from collections.abc import Callable

from fedradio.runs import estimate
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec


def test_the_estimate_grows_with_the_work_and_changes_nothing(tiny: Callable[..., Spec]) -> None:
    sim = build(tiny("hops.0.policy.steps=50"))
    few, many = estimate.estimate_s(sim, 10, 1), estimate.estimate_s(sim, 1000, 1)
    assert 0 < few < many
    assert run(tiny(), simulation=build(tiny())).accuracy == run(tiny()).accuracy
