"""Balances of caches over seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.past import past
from support.shelves import balance, plain, shelf

from fedradio.results.caches import cache_rows, stationary
from fedradio.results.measures import measure
from fedradio.results.quantities import QUANTITIES
from fedradio.results.run import Run
from fedradio.results.variants import variants
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def runs(requesting: Make) -> list[Run]:
    """Hits .6 .7 .8 against .5 .5 .5 over three seeds; learning pays in two."""
    return [
        past(
            requesting(f"seed={seed}", "cache.capacity=8"),
            [0.5],
            cache=plain(
                shelf(
                    "predicted", "model", hit_ratio=0.5 + seed / 10, payback=None if seed == 1 else seed, net_bits=6e9
                ),
                shelf("cell_popular"),
                shelf("oracle", "law", hit_ratio=0.9, net_bits=None),
            ),
        )
        for seed in (1, 2, 3)
    ]


def test_means_and_paired_differences(requesting: Make) -> None:
    rows = {row.shelf: row for row in cache_rows(variants(runs(requesting)))}
    own = rows["predicted"]
    assert own.seeds == [1, 2, 3]
    mean, difference = own.means["hit_ratio"], own.differences["hit_ratio"]
    assert mean is not None
    assert difference is not None
    assert (mean.mean, difference.mean) == (pytest.approx(0.7), pytest.approx(0.2))
    assert own.than == "cell_popular"
    assert own.paid_back == 2
    assert own.stationary
    assert rows["cell_popular"].than is None
    assert rows["cell_popular"].differences["hit_ratio"] is None
    assert rows["oracle"].paid_back is None
    assert rows["oracle"].means["net_bits"] is None
    assert rows["oracle"].differences["net_bits"] is None


def test_quantities_and_measures_are_those_of_the_first_placement(requesting: Make, tiny: Make) -> None:
    run = runs(requesting)[2]
    assert run.cache is not None
    assert run.cache == balance(*run.cache.shelves.values())
    for name, value in (("hit_ratio", 0.8), ("net_bits", 6e9), ("payback", 3)):
        assert QUANTITIES[name].of(run) == measure(name)(run) == pytest.approx(value)
    without = past(tiny(), [0.5])
    assert without.cache is None
    assert cache_rows(variants([without])) == []
    assert measure("hit_ratio")(without) is None
    assert QUANTITIES["hit_ratio"].text(0.8) == "80.00 %"
    assert QUANTITIES["net_bits"].text(6e9) == "6 Gbit"


def test_drift_is_told(requesting: Make) -> None:
    assert stationary(requesting())
    assert not stationary(requesting("data.source.drift=0.1"))
