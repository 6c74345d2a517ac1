"""Replayed rounds of OSAFL: what records say of absent clients, and estimates of smoothness and noise."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.plain_logistic import plain, square

from fedradio.core.progress import silent
from fedradio.papers.bounds.osafl_rounds import replay, work_of
from fedradio.papers.bounds.replay import replayed_run
from fedradio.rounds.round import begin, run_round
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def test_absent_clients_keep_their_last_steps_and_count_0_before_they_come(tiny: Maker, tmp_path: Path) -> None:
    spec = tiny(
        "algorithm=osafl",
        "hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}",
        "rule.updates_per_step=3",
        "rounds=4",
    )
    opened = replayed_run(made(spec, tmp_path / "a"))
    steps = [1] * 6
    heard = [False] * 6
    for work, (record,) in zip(work_of(opened), opened.exchanges, strict=True):
        for u, n in zip(record.ids, record.steps, strict=True):
            steps[u], heard[u] = 3 * n, True
        assert work.steps.tolist() == steps
        assert [score > 0 for score in work.score.tolist()] == heard
        assert work.arrived.nonzero().flatten().tolist() == record.ids
    assert not all(heard) or spec.rounds > 2


def test_smoothness_and_noise_equal_plain_ones(tiny: Maker, tmp_path: Path) -> None:
    """Without probes the smoothness is the largest quotient along the round; on full batches there is no noise."""
    spec = tiny("model=logistic", "algorithm=osafl", "rounds=1")
    (round_,) = replay(replayed_run(made(spec, tmp_path / "a")), 1, silent, probe=False)
    sim = build(spec)
    state = begin(sim)
    before = state.memory.shared["w"].clone()
    state, _, _ = run_round(sim, state, evaluate=False)
    after, tapes, quotients = state.memory.shared["w"], sim.stream.tapes, []  # type: ignore[attr-defined]
    for first, end in zip(tapes.offset[:-1].tolist(), tapes.offset[1:].tolist(), strict=True):
        samples = tapes.fetch(tapes.index[first:end])
        bend = plain(sim, after, *samples)[1] - plain(sim, before, *samples)[1]
        quotients.append((square(bend) / square(after - before)) ** 0.5)
    assert round_.smoothness == pytest.approx(max(quotients), rel=1e-3)
    assert round_.variance > 0
    whole = tiny("model=logistic", "algorithm=osafl", "rule.batch=2000", "rounds=1")
    (exact,) = replay(replayed_run(made(whole, tmp_path / "b")), 1, silent)
    assert exact.variance == pytest.approx(0.0, abs=1e-9)
    assert exact.smoothness > max(quotients)  # probes look for sharper directions


def test_divergence_by_hand(tiny: Maker, tmp_path: Path) -> None:
    (round_,) = replay(replayed_run(made(tiny("algorithm=osafl", "rounds=1"), tmp_path / "a")), 1, silent, probe=False)
    excess = (round_.client_sq - 2 * round_.norm_sq).clamp(min=0)
    assert torch.allclose(round_.divergence(2.0, 4.0), excess / 4)
    assert round_.divergence(1.0, 0.0).tolist() == [0.0] * 6
