"""Caches on the page of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.cache import cache
from fedradio.results.caches import served_rounds
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def data_of(text: str, identity: str) -> dict[str, Any]:
    found = re.search(rf'id="{identity}-data">(.*?)</script>', text)
    assert found is not None
    plain: dict[str, Any] = json.loads(found[1])
    return plain


def cached(requesting: Make, folder: Path, *keys: str) -> Run:
    run(requesting("cache={}", *keys), folder)
    return open_run(folder)


def test_every_chart_and_table(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path, "cache.capacity=[2, 5]", "cache.protocol=true", "cache.prices={request: 1}")
    text = cache(RunData(found))
    assert re.search(r"<p>Clients requested \d+ of 12 files, in \d+ requests\.", text)
    assert "favours counting" in text
    assert 'name="capacity"' in text
    hits = data_of(text, "cache-hits")
    assert list(hits) == ["2", "5"]
    names = ["predicted 2", "cell_popular 2", "lru 2", "oracle 2"]
    assert [trace["name"] for trace in hits["2"]["traces"]] == names
    assert [trace["line"]["dash"] for trace in hits["2"]["traces"]] == ["solid"] * 3 + ["dash"]
    causes = [trace["name"] for trace in data_of(text, "cache-backhaul")["5"]["traces"]]
    assert causes == ["misses", "prefetched", "model up", "model down", "control"]
    trade = data_of(text, "cache-trade")["all"]["traces"]
    assert [trace["name"] for trace in trade] == ["predicted", "cell_popular", "lru", "oracle"]
    assert all(len(trace["x"]) == 2 for trace in trade)
    assert "Compared with cell_popular" in text or "Compared with lru" in text
    assert "revenue" in text


def test_learning_without_backhaul_and_an_oracle_of_several_slots(requesting: Make, tmp_path: Path) -> None:
    """No size of files breaks even, and nothing is paid back; a placement without a rival has no payback."""
    flat = cached(requesting, tmp_path / "flat", "topology=flat", "hops=[{policy: fixed}]", "cache.every=round")
    text = cache(RunData(flat))
    assert "Learning uses no backhaul here, so there is nothing to pay back. Compared with" in text
    assert "paid back" not in text
    assert "would break even" not in text
    assert "it can be beaten" in text
    alone = cached(requesting, tmp_path / "alone", "cache={placements: [predicted]}")
    assert ">never<" not in cache(RunData(alone))
    assert "it can be beaten" not in cache(RunData(alone))


def test_rounds_add_up_to_the_summary(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path)
    served, told = served_rounds(found), found.summary
    assert served is not None
    assert told is not None
    for label, shelf in told["cache"]["shelves"].items():
        assert served.shelves[label].net_bits[-1] == shelf["net_bits"]
        assert served.shelves[label].hits.sum() == round(shelf["hit_ratio"] * told["cache"]["requests"])
        assert sum(served.shelves[label].edges) == served.shelves[label].hits.sum()


def test_a_run_that_was_stopped_has_no_balance_yet(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path)
    text = cache(RunData(Run(found.folder, found.spec, None)))
    assert re.search(r"<p>Clients requested \d+ files", text)
    assert "Balance" not in text


def test_why_there_is_none(small: RunData, requesting: Make, tmp_path: Path) -> None:
    assert "This spec has no caches." in cache(small)
    waiting = Run(tmp_path, requesting("cache={}"), None)
    vars(waiting)["caches"], vars(waiting)["rounds"] = [], []
    assert "nothing has been cached" in cache(RunData(waiting))
