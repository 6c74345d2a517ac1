"""How long a run will take."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.runs import estimate
from fedradio.runs import speed as speeds
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec


def test_the_estimate_grows_with_the_work_and_changes_nothing(tiny: Callable[..., Spec]) -> None:
    spec = tiny("hops.0.policy.steps=50")
    sim = build(spec)
    few, many = estimate.estimate_s(sim, spec, 10), estimate.estimate_s(sim, spec, 1000)
    assert 0 < few < many
    assert run(tiny(), simulation=build(tiny())).accuracy == run(tiny()).accuracy


def test_rounds_that_were_measured_here_tell_more(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds of 4 CPU seconds and evaluations of 10, every third and the last: 7 rounds take 58, on two threads 29."""
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path))
    monkeypatch.setattr(estimate, "cores", lambda: 2)
    spec = tiny("rounds=9", "eval_every=3")
    speeds.note_run(spec, [(9.0, False), (4.0, False), (14.0, True)])
    other = tiny("rounds=20", "eval_every=3", "seed=8")
    for workers, seconds in ((1, 58.0), (2, 29.0), (8, 29.0)):
        assert estimate.estimate_s(build(other, workers=workers), other, 7) == pytest.approx(seconds)
    wider = tiny("eval_every=3", "model.hidden=[32]")
    assert estimate.estimate_s(build(wider), wider, 7) < 20
