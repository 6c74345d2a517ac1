"""Caches of a run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedradio.report.charts.cache import caches
from fedradio.report.charts.chart import Bars, Chart, Dot, Line
from fedradio.report.charts.run_charts import cache_charts
from fedradio.report.style import SHORT, SOLID
from fedradio.results.caches import CAUSES, Served, ServedRounds, served_rounds
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def cached(requesting: Make, folder: Path, *keys: str) -> Run:
    run(requesting("cache={}", *keys), folder)
    return open_run(folder)


def lines(chart: Chart, view: str) -> list[Line]:
    return [layer for layer in chart.plots[view].layers if isinstance(layer, Line)]


def shelf(hits: list[float], misses: float, oracle: bool = False, capacity: int = 2) -> Served:
    bits = {cause: np.zeros(2) for cause in CAUSES} | {"misses": np.array([misses, misses])}
    return Served(np.array(hits), np.array([1.0, 2.0]), bits, [0], capacity, oracle)


def test_numbers_by_hand() -> None:
    """4 and then no request: 3 of 4 are hits; a round without requests has no ratio. 1e9 bits a round are missed."""
    served = ServedRounds(np.array([4.0, 0.0]), [4], 12, {"lru": shelf([3, 0], 1e9), "oracle": shelf([4, 0], 0, True)})
    hits, backhaul, net, trade = caches(served, None)
    own, oracle = lines(hits, "")
    assert own.y[0] == 75
    assert np.isnan(own.y[1])
    assert (own.style.dash, oracle.style.dash) == (SOLID, SHORT)
    assert hits.numbers.rows[1] == ["2", None, None]
    (bars,) = backhaul.plots[""].layers
    assert isinstance(bars, Bars)
    assert (bars.name, bars.y.tolist()) == ("misses", [2.0, 0.0])
    assert backhaul.plots[""].x.names == ["lru", "oracle"]
    assert lines(net, "")[0].y.tolist() == [1.0, 2.0]
    assert [(line.x.tolist(), line.y.tolist()) for line in lines(trade, "")] == [([0.75], [75.0]), ([0.75], [100.0])]


def test_one_view_per_capacity(requesting: Make, tmp_path: Path) -> None:
    found = cache_charts(cached(requesting, tmp_path, "cache.capacity=[2, 5]", "cache.protocol=true"))
    hits, backhaul, _, trade = found
    assert list(hits.plots) == ["2", "5"]
    assert [line.name for line in lines(hits, "2")] == ["predicted 2", "cell_popular 2", "lru 2", "oracle 2"]
    assert [layer.name for layer in backhaul.plots["5"].layers if isinstance(layer, Bars)] == list(CAUSES)
    assert [(line.name, line.texts) for line in lines(trade, "")] == [
        (name, ["2 files", "5 files"]) for name in ("predicted", "cell_popular", "lru", "oracle")
    ]


def test_learning_without_backhaul_has_nothing_to_pay_back(requesting: Make, tmp_path: Path) -> None:
    flat = cached(requesting, tmp_path / "flat", "topology=flat", "hops=[{policy: fixed}]", "cache.every=round")
    net = cache_charts(flat)[2]
    assert net.says.startswith("Learning uses no backhaul here, so there is nothing to pay back. Compared with")
    assert not [layer for layer in net.plots[""].layers if isinstance(layer, Dot)]


def test_the_payback_round_is_marked(requesting: Make, tmp_path: Path) -> None:
    """At the net backhaul of that round."""
    found = cached(requesting, tmp_path)
    served, balance = served_rounds(found), found.cache
    assert served is not None
    assert balance is not None
    paid = {"payback": 2, "learning_bits": 1.0}
    shelves = {name: replace(s, **paid) if s.knows == "model" else s for name, s in balance.shelves.items()}
    net = caches(served, replace(balance, shelves=shelves))[2]
    (dot,) = [layer for layer in net.plots[""].layers if isinstance(layer, Dot)]
    assert (dot.x, dot.y) == (2, served.shelves["predicted"].net_bits[1] / 1e9)


def test_rounds_add_up_to_the_summary(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path)
    served, told = served_rounds(found), found.summary
    assert served is not None
    assert told is not None
    for label, each in told["cache"]["shelves"].items():
        assert served.shelves[label].net_bits[-1] == each["net_bits"]
        assert served.shelves[label].hits.sum() == round(each["hit_ratio"] * told["cache"]["requests"])
        assert sum(served.shelves[label].edges) == served.shelves[label].hits.sum()
