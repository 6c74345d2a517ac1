"""What predictions are worth in caches of RawHFL's world, and what drift does to counting; three seeds each."""

from __future__ import annotations

import pytest
from support.frozen import begun, expected, hits, serve, with_cache

from fedradio.core.contracts import Cache
from fedradio.placements.kinds import cell_popular, oracle, predicted
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

pytestmark = pytest.mark.paper

SEEDS = (1, 2, 3)
ALL = (predicted(move_cost=0), cell_popular(), oracle())
AGAIN = 10_000
"""First number of the rounds in which nothing is trained: their draws are others than those of learning."""


@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_win_slots_and_lose_long_windows(seed: int) -> None:
    """8 files, expected hits: after 8 rounds at least .9 of the oracle's and .08 above counting, after one round below
    .8 of the oracle's; placed for 16 slots, with counts of 200 slots, not more than .03 above counting."""
    sim = build(load_spec("rawhfl", [f"seed={seed}", "data.source.requests=1500"]))
    state, ratios = begin(sim), {}
    slot = with_cache(sim, Cache(ALL, (8,)))
    for t in range(8):
        state, _, _ = run_round(sim, state, evaluate=False)
        if t in (0, 7):
            warm = serve(slot, begun(slot, state), 200, AGAIN)[1]
            ratios[t] = expected(serve(slot, warm, 200, 2 * AGAIN)[0])
    long = with_cache(sim, Cache((predicted(move_cost=0), cell_popular(move_cost=0), oracle()), (8,), "edge_round"), 16)
    warm = serve(slot, begun(slot, state), 200, AGAIN)[1]
    ratios[16] = expected(serve(long, warm, 40, 2 * AGAIN)[0])
    print(seed, {at: {name: round(value, 3) for name, value in each.items()} for at, each in ratios.items()})
    assert ratios[7]["predicted"] >= 0.9 * ratios[7]["oracle"]
    assert ratios[7]["predicted"] >= ratios[7]["cell_popular"] + 0.08
    assert ratios[0]["predicted"] < 0.8 * ratios[0]["oracle"]
    assert ratios[16]["predicted"] <= ratios[16]["cell_popular"] + 0.03


@pytest.mark.parametrize("seed", SEEDS)
def test_under_strong_drift_counts_must_forget(seed: int) -> None:
    """A swap in every genre before every slot, all clients in step: the last 100 requests of a cell hit more often than
    all of them."""
    keys = ["data.source.drift=1.0", "data.source.requests=900", "data.stream.activity=[1.0, 1.0]"]
    sim = build(load_spec("rawhfl", [f"seed={seed}", *keys]))
    sim = with_cache(sim, Cache((cell_popular(), cell_popular(window=100, name="window"), oracle()), (8,)))
    found = hits(serve(sim, begun(sim, begin(sim)), 600, 0)[0][200:])
    print(seed, {name: round(value, 3) for name, value in found.items()})
    assert found["window"] > found["cell_popular"] + 0.02
