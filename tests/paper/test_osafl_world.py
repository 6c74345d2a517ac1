"""The world of OSAFL's specs: chosen by a rule on the world alone, and shared by all trials."""

import numpy as np
import pytest
import torch
from scipy.special import xlogy
from support.laws import transition

from fedradio.core.rng import Rng
from fedradio.data.requests import zipf_mandelbrot
from fedradio.data.video_features import draw_catalogue
from fedradio.data.video_files import draw_law
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.files import shipped
from fedradio.spec.spec import load_spec

CEILING, DEVIATION = 0.6630, 0.0023
"""Accuracy of central SGD with K = 1 (Table II), which reaches the mean of eps, and its printed deviation."""

SMALL = (
    "model.hidden=[64, 64]",
    "hops.0.link.bits_per_value=300",  # the payload of the FCN, and with it its stragglers
    "data.source.test_requests=100",
    "data.source.requests=1000",
)


def mean_eps(seed: int, clients: int) -> float:
    """Mean probability to stay in a genre of the clients of a world."""
    rng = Rng(seed).child("world", "source")
    law = draw_law(draw_catalogue(5, 2, rng), clients, 0.3, (0.4, 0.9), 1, torch.ones(2).numpy(), rng)
    return float(law.stay.mean())


def test_the_world_is_the_first_like_the_papers() -> None:
    """The first seed whose mean eps is the paper's up to its printed deviation, with 40 and with 100 clients."""
    fits = (seed for seed in range(1, 100) if all(abs(mean_eps(seed, n) - CEILING) <= DEVIATION for n in (40, 100)))
    found = next(fits)
    assert found == 6
    names = [name for name in shipped() if name == "osafl" or name.startswith(("osafl/paper/", "osafl/quick/"))]
    assert len(names) == 65
    assert {load_spec(name).world_seed for name in names} == {found}


def test_ceilings_and_entropies_of_the_world() -> None:
    """100 clients: the ceilings of K = 1, 2 are the published .663 and .3435 up to .0023; the loss rises by .457 nats
    from K = 1 to 2 whatever the exponent of the popularity law (published .471), while its floor depends on it."""
    ceiling, entropy = {}, {}
    rng = Rng(6).child("world", "source")
    for gamma in (0.8, 1.2):
        for k in (1, 2):
            law = draw_law(draw_catalogue(5, 20, rng), 100, 0.3, (0.4, 0.9), k, zipf_mandelbrot(20, gamma, 0.0), rng)
            last = law.simulate(200, rng.child("test"))
            rows = np.stack([xlogy(t := transition(law, c), t).sum(axis=1) for c in range(100)])
            ceiling[gamma, k] = float(np.take_along_axis(law.ceiling(), last, axis=1).mean())
            entropy[gamma, k] = -float(np.take_along_axis(rows, last, axis=1).mean())
        assert ceiling[gamma, 1] == pytest.approx(CEILING, abs=DEVIATION)
        assert ceiling[gamma, 2] == pytest.approx(0.3435, abs=DEVIATION)
        assert entropy[gamma, 2] - entropy[gamma, 1] == pytest.approx(0.457, abs=0.005)
    assert entropy[0.8, 1] - entropy[1.2, 1] > 0.1


def test_trials_share_the_world() -> None:
    """Another seed: the same places, devices, law of requests and images, other requests, batches and shadowing."""
    one, two = (build(load_spec("osafl/quick/osafl", [*SMALL, "rounds=1", f"seed={seed}"])) for seed in (1, 2))
    assert torch.equal(one.topology.positions[0], two.topology.positions[0])
    assert one.hops[0].fleet is not None
    assert two.hops[0].fleet is not None
    assert torch.equal(one.hops[0].fleet.f_max_hz, two.hops[0].fleet.f_max_hz)
    first, second = one.stream.test().fetch, two.stream.test().fetch
    assert torch.equal(first.table, second.table)  # type: ignore[attr-defined]
    assert torch.equal(first.taste, second.taste)  # type: ignore[attr-defined]
    assert not torch.equal(first.request, second.request)  # type: ignore[attr-defined]
    assert one.rng.seed != two.rng.seed


def test_afa_cd_as_printed_ends_as_top_popular() -> None:
    """From round 4 on it guesses the most popular file: the start value w/eta_L has shrunk the model to nothing.

    Forty clients, 23 of them never seen, eta/eta_L = 2: a round multiplies the model by 1 - 2 * 23/40 = -.15. Started
    at zero the same algorithm keeps its model.
    """
    sim = build(load_spec("osafl/quick/afa_cd", [*SMALL, "rounds=7"]))
    popular = sim.stream.reference(begin(sim).parts["data.stream"])["top_popular"]
    state, found = begin(sim), []
    for _ in range(7):
        state, record, _ = run_round(sim, state, evaluate=True)
        found.append(record.metrics["accuracy"])
    assert found[3:] == [pytest.approx(popular, abs=1e-12)] * 4
    assert found[0] != pytest.approx(popular, abs=1e-3)
    assert float(state.memory.shared["w"].norm()) < 0.05
    zero = build(load_spec("osafl/quick/afa_cd", [*SMALL, "rounds=7", "algorithm.never_seen=nothing"]))
    state = begin(zero)
    before = float(state.memory.shared["w"].norm())
    for _ in range(4):
        state, _, _ = run_round(zero, state, evaluate=False)
    assert float(state.memory.shared["w"].norm()) > 0.9 * before
