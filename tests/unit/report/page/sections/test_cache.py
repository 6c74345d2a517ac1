"""Caches on the page of a run: tables beside the charts, and why there are none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from support.pages import Outline

from fedradio.report.page.sections.cache import cache
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def cached(requesting: Make, folder: Path, *keys: str) -> Run:
    run(requesting("cache={}", *keys), folder)
    return open_run(folder)


def test_every_chart_and_table(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path, "cache.capacity=[2, 5]")
    text = cache(found)
    outline = Outline(text)
    charts = [f"cache-{name}-chart" for name in ("hits", "backhaul", "net", "trade")]
    assert list(outline.values("data-chart")) == charts
    assert list(outline.values("data-charts")) == [" ".join(charts[:3])]
    balance, edges = outline.names("table")[-2:]
    assert balance["class"] == edges["class"] == "numbers"
    assert "favours counting" in text


def test_what_an_oracle_of_several_slots_and_a_placement_without_a_rival_lack(requesting: Make, tmp_path: Path) -> None:
    flat = cached(requesting, tmp_path / "flat", "topology=flat", "hops=[{policy: fixed}]", "cache.every=round")
    assert "it can be beaten" in cache(flat)
    alone = cached(requesting, tmp_path / "alone", "cache={placements: [predicted]}")
    assert ">never<" not in cache(alone)
    assert "it can be beaten" not in cache(alone)


def test_a_run_that_was_stopped_has_no_balance_yet(requesting: Make, tmp_path: Path) -> None:
    found = cached(requesting, tmp_path)
    text = cache(Run(found.folder, found.spec, None))
    assert re.search(r"<p>Clients requested \d+ files", text)
    assert "Balance" not in text


def test_why_there_is_none(small: Run, requesting: Make, tmp_path: Path) -> None:
    assert "This spec has no caches." in cache(small)
    waiting = Run(tmp_path, requesting("cache={}"), None)
    vars(waiting)["caches"], vars(waiting)["rounds"] = [], []
    assert "nothing has been cached" in cache(waiting)
