"""Replayed rounds of FedCPSL: estimates of its constants by plain formulas in float64."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.plain_logistic import hot, plain, probabilities, square

from fedradio.core.contracts import Objective
from fedradio.core.progress import silent
from fedradio.engine.objective import gradient_step
from fedradio.papers.bounds.fedcpsl_rounds import Samples, cost_smoothness, held, replay
from fedradio.papers.bounds.replay import BATCHES, replayed_run
from fedradio.rounds.round import begin, run_round
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def test_smoothness_of_the_cost_by_hand() -> None:
    """-log h_y has slope -1/h_y: from h_y = .5 to .25 it moves by 2; the outputs move by sqrt(2)/4, so 2/(sqrt2/4) =
    5.657. Unlabelled, alpha_p = .5, alpha_r = 0, nu = (1, 0): half of it."""
    x = torch.zeros(2, 1)
    first = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    last = torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.float64)
    nu = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    samples = Samples(Objective(alpha_p=0.5), x, torch.tensor([0]))
    assert cost_smoothness(samples, first, last, nu) == pytest.approx(5.656854)
    assert cost_smoothness(samples, first.flip(0), last.flip(0), nu) == pytest.approx(2.828427)
    assert cost_smoothness(samples, first, first, nu) == 0.0


def test_everything_is_held_in_one_order(tiny: Maker) -> None:
    sim = build(tiny("algorithm=fedshvr", "data.unlabelled=0.5"))
    once, again = (held(sim, sim.stream.start()) for _ in range(2))
    stats = sim.stream.stats(sim.stream.start())
    assert [samples.labelled for samples in once] == stats["labelled"].tolist()
    assert [len(samples.unlabelled) for samples in once] == (stats["samples"] - stats["labelled"]).tolist()
    assert all(torch.equal(a.x, b.x) and torch.equal(a.y, b.y) for a, b in zip(once, again, strict=True))


def test_estimates_equal_plain_ones(tiny: Maker, tmp_path: Path) -> None:
    """Labelled samples only, all in one batch: quotients along the round by plain gradients, no noise."""
    spec = tiny(
        "model=logistic",
        "rule.batch=2000",
        "algorithm={kind: fedcpsl, alpha_p: 0, alpha_r: 0, mixture: 1.0, lr_factor: 2}",
        "rounds=1",
    )
    run(spec, tmp_path / "a")
    (round_,) = replay(replayed_run(tmp_path / "a"), 1, silent, probe=False)
    sim = build(spec)
    state = begin(sim)
    w, tapes = state.memory.shared["w"].clone(), sim.stream.tapes  # type: ignore[attr-defined]
    state, _, _ = run_round(sim, state, evaluate=False)
    after, shared, own, outputs, costs = state.memory.shared["w"], [], [], [], []
    for i, (first, end) in enumerate(zip(tapes.offset[:-1].tolist(), tapes.offset[1:].tolist(), strict=True)):
        x, y = tapes.fetch(tapes.index[first:end])
        for row, into in ((after, shared), (state.memory.client["own"][i], own)):
            bend = plain(sim, row, x, y)[1] - plain(sim, w, x, y)[1]
            into.append((square(bend) / square(row - w)) ** 0.5)
        h = [probabilities(sim, w + part * (after - w), x) for part in (0.0, 0.5, 1.0)]
        second = (h[0] - 2 * h[1] + h[2]).square().sum(dim=1).sqrt()
        outputs.append(float(second.max()) / (square(after - w) / 4))
        slope = [(hot(y) / p).sum(dim=1) for p in (h[0], h[2])]
        moved = (h[2] - h[0]).square().sum(dim=1).sqrt()
        costs.append(float(((slope[1] - slope[0]).abs() / moved).max()))
    assert round_.smoothness == pytest.approx(max(shared), rel=1e-3)
    assert round_.smoothness_own == pytest.approx(max(own), rel=1e-3)  # with mixture 1 F is the own model's loss
    assert round_.smoothness_output == pytest.approx(max(outputs), rel=1e-3)
    assert round_.smoothness_cost == pytest.approx(max(costs), rel=1e-3)
    assert round_.variance == pytest.approx(0.0, abs=1e-6)
    assert round_.label_moves.tolist() == [0.0] * 6


def test_the_variance_is_that_of_one_sample_and_variates_count_from_the_second_round(
    tiny: Maker, tmp_path: Path
) -> None:
    """Mini-batches of 16 have a variance of sigma^2 / 16; Xi (46) is 0 only where variates are the gradients."""
    spec = tiny("model=logistic", "algorithm={kind: fedshvr, alpha_p: 0, alpha_r: 0}", "rounds=2")
    run(spec, tmp_path / "a")
    first, second = replay(replayed_run(tmp_path / "a"), 2, silent, probe=False)
    sim = build(spec)
    state, noise = begin(sim), []
    w = state.memory.shared["w"].clone()
    everything = held(sim, sim.stream.start())
    for i, samples in enumerate(everything):
        full, draw = plain(sim, w, samples.x, samples.y)[1], sim.rng.child("theory", 0, "noise", i).numpy()
        errors = []
        for _ in range(BATCHES):
            chosen, _ = torch.from_numpy(draw.permutation(len(samples.y))[:16]), draw.permutation(0)
            errors.append(square(plain(sim, w, samples.x[chosen], samples.y[chosen])[1] - full))
        noise.append(sum(errors) / BATCHES)
    assert first.variance == pytest.approx(16 * max(noise), rel=1e-3)
    state, _, _ = run_round(sim, state, evaluate=False)
    w, variates = state.memory.shared["w"], state.memory.client["c"]
    share = [len(samples.y) / sum(len(other.y) for other in everything) for samples in everything]
    slopes = [plain(sim, w, samples.x, samples.y)[1] for samples in everything]
    xi = sum(s * square(slope - variates[i]) for i, (s, slope) in enumerate(zip(share, slopes, strict=True)))
    assert second.variate_sq == pytest.approx(xi, rel=1e-3)
    assert xi < sum(s * square(slope) for s, slope in zip(share, slopes, strict=True))


def test_kept_labels_move_from_where_they_were(tiny: Maker, tmp_path: Path) -> None:
    """Two rounds of everybody with (10): the second step starts at the first one's labels, as the clients' slots do."""
    spec = tiny(
        "algorithm={kind: fedshvr, pseudo: gradient, alpha_p: 0.5, alpha_r: 0.2}", "data.unlabelled=0.5", "rounds=2"
    )
    run(spec, tmp_path / "a")
    opened = replayed_run(tmp_path / "a")
    rounds, uniform = replay(opened, 2, silent, probe=False), torch.full((1, 10), 0.1, dtype=torch.float64)
    sim, wanted = opened.sim, []
    data = held(sim, sim.stream.start())
    before = [uniform.expand(len(samples.unlabelled), 10) for samples in data]
    state = begin(sim)
    for _ in range(2):
        w, moves = state.memory.shared["w"].clone(), []
        for i, samples in enumerate(data):
            after = gradient_step(samples.objective, sim.model.apply(w, samples.unlabelled).double(), before[i])
            moves.append(square(after - before[i]))
            before[i] = after
        wanted.append(moves)
        state, _, _ = run_round(sim, state, evaluate=False)
    for round_, moves in zip(rounds, wanted, strict=True):
        assert round_.label_moves.tolist() == pytest.approx(moves, rel=1e-4)
