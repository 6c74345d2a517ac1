"""Runs with caches: learning is untouched, resumed runs are the same, tables and pages have them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.batches import without_wall_time
from support.worlds import requesting as compose_requesting

import fedradio
from fedradio import Run
from fedradio.core.contracts import Cache, CacheRecord, RoundRecord, SimState
from fedradio.core.errors import SpecError, StoreError
from fedradio.placements.kinds import oracle, predicted
from fedradio.report.page import run_page
from fedradio.results.export import export
from fedradio.results.run import open_run
from fedradio.rounds.caching import down_bits, learning_bits
from fedradio.runs import checkpoint
from fedradio.runs.folder import MODEL_FILE, RECORDS_FILE
from fedradio.runs.records import read_records
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.spec.build import build
from fedradio.spec.files import shipped
from fedradio.spec.spec import Spec, check_spec, load_spec

Make = Callable[..., Spec]
PLACEMENTS = "[{kind: predicted, blend: 0.5}, {kind: cell_popular, window: 5}, lru, oracle]"
CACHE = f"cache={{capacity: [2, 4], placements: {PLACEMENTS}}}"
OWN = ("hit_ratio", "net_bits")


class StopAfter(Observer):
    """An observer that interrupts the run."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == self.rounds:
            raise KeyboardInterrupt


def others(folder: Path) -> list[dict[str, Any]]:
    """All records but those of caches, without their metrics."""
    kept = [record for record in read_records(folder) if not isinstance(record, CacheRecord)]
    plain = without_wall_time(kept)
    for record in plain:
        for name in OWN:
            record.get("metrics", {}).pop(name, None)
    return plain


def lines(folder: Path) -> list[dict[str, Any]]:
    return without_wall_time(read_records(folder))


def test_learning_is_the_same_with_and_without(requesting: Make, tmp_path: Path) -> None:
    plain, cached, two = (tmp_path / name for name in ("plain", "cached", "two"))
    run(requesting(), plain)
    summary = run(requesting(CACHE), cached, workers=1)
    run(requesting(CACHE), two, workers=2)
    assert others(plain) == others(cached)
    assert (plain / MODEL_FILE).read_bytes() == (cached / MODEL_FILE).read_bytes()
    assert lines(cached) == lines(two)
    assert len([*read_records(cached, CacheRecord)]) == 4
    assert summary.cache is not None
    assert list(summary.cache.shelves)[:3] == ["predicted 2", "predicted 4", "cell_popular 2"]
    assert open_run(cached).cache == summary.cache
    assert summary.metrics["hit_ratio"] > 0


def test_resume_equals_one_go(requesting: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = requesting(CACHE, "rounds=4", "eval_every=3")
    whole = run(spec, tmp_path / "whole")
    monkeypatch.setattr(checkpoint, "LEAST_S", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", float("inf"))
    for stop in (1, 2):
        folder = tmp_path / f"stopped-{stop}"
        with pytest.raises(KeyboardInterrupt):
            run(spec, folder, observer=StopAfter(stop))
        again = resume(folder)
        assert lines(folder) == lines(tmp_path / "whole")
        assert (folder / MODEL_FILE).read_bytes() == (tmp_path / "whole" / MODEL_FILE).read_bytes()
        assert again.cache == whole.cache
    assert resume(tmp_path / "whole").cache == whole.cache  # nothing to do: as the file tells it


def test_fingerprints_and_null(requesting: Make) -> None:
    assert requesting().sha256() == requesting("cache=null").sha256()
    assert requesting().sha256() != requesting("cache.capacity=3").sha256()
    usual = requesting("cache={}").plain["cache"]
    assert [part["kind"] for part in usual["placements"]] == ["predicted", "cell_popular", "lru", "oracle"]
    assert check_spec(requesting(CACHE).plain).plain == requesting(CACHE).plain


def test_the_shipped_ones_add_a_cache_and_nothing_else() -> None:
    for name in ("rawhfl", "osafl"):
        plain, cached = load_spec(name).plain, load_spec(f"{name}_cache").plain
        assert cached["cache"] is not None
        assert {key for key in plain if plain[key] != cached[key]} == {"name", "about", "cache"}
    assert {"rawhfl_cache", "osafl_cache"} <= set(shipped())


def test_bits_of_learning_in_rawhfl() -> None:
    """33 bits a number, 219,648 numbers, four edges, up and down."""
    sim = build(load_spec("rawhfl_cache"))
    down = down_bits(sim)
    assert down == 33 * 219_648 * 4
    assert learning_bits([1.0, down], down) == 57_987_072


def test_tables_of_an_export(requesting: Make, tmp_path: Path) -> None:
    run(requesting(CACHE), tmp_path / "run")
    export(tmp_path / "run", out=tmp_path / "tables")
    with (tmp_path / "tables" / "cache.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 8 * 2  # edge rounds, shelves, edges
    assert all(int(row["hits"]) + int(row["misses"]) == int(row["requests"]) for row in rows)
    with (tmp_path / "tables" / "runs.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert 0 < float(row["cache.lru 4.hit_ratio"]) < 1


def test_damaged_records_of_caches_are_refused(requesting: Make, tmp_path: Path) -> None:
    run(requesting(CACHE), tmp_path)
    path = tmp_path / RECORDS_FILE
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    number = next(i for i, row in enumerate(rows) if row["type"] == "cache")
    rows[number]["shelves"]["lru 2"]["hits"].append(1)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(StoreError, match=rf"line {number + 1}: shelves.lru 2.hits: 3 values for 2 receivers"):
        list(read_records(tmp_path))


@pytest.mark.parametrize(
    ("keys", "path", "words"),
    [
        ("cache.capacity=13", "cache.capacity", "12 files"),
        ("cache={placements: [predicted, {kind: predicted, blend: 0.2}]}", "cache.placements.0", "several"),
        ("cache={placements: [{kind: predicted, blend: 1.2}]}", "cache.placements.0.blend", "less than or equal to 1"),
        ("cache={placements: [{kind: lru, size: 1}]}", "cache.placements.0.size", "unknown key"),
        (
            "cache={placements: [{kind: oracle, move_cost: -1}]}",
            "cache.placements.0.move_cost",
            "greater than or equal",
        ),
        ("cache={placements: []}", "cache.placements", "at least 1"),
        ("cache.file_bits=[3e8, 1e8]", "cache.file_bits", "lowest"),
        ("cache.top=3", "cache.top", "sharing: top"),
        ("cache.every=week", "cache.every", "'slot'"),
        ("cache.gbit=1", "cache.gbit", "unknown key"),
        ("data.stream=static", "cache", "no requests are made"),
        ("algorithm=central", "cache", "no edges"),
    ],
)
def test_bad_input(requesting: Make, keys: str, path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(requesting("cache.capacity=4", keys))
    found = {problem.path: problem.reason for problem in caught.value.problems}
    assert words in found[path]


def test_sizes_drawn_from_a_range_are_the_worlds(requesting: Make) -> None:
    sizes = [build(requesting("cache.file_bits=[1e6, 1e8]", f"seed={seed}", "world_seed=5")).cache for seed in (1, 2)]
    first, second = (cache.sizes(12) for cache in sizes if cache is not None)
    assert first.equal(second)
    assert float(first.min()) >= 1e6
    assert float(first.max()) <= 1e8
    assert len(set(first.tolist())) == 12


def test_composed_simulations_have_caches_too(tmp_path: Path) -> None:
    def made(name: str, cache: Cache | None) -> Run:
        return fedradio.run(compose_requesting(cache=cache), tmp_path / name, rounds=2)

    done, plain = made("run", Cache((predicted(blend=0.5), oracle()), (2, 3))), made("plain", None)
    other = made("other", Cache((predicted(blend=0.4), oracle()), (2, 3)))
    assert done.cache is not None
    assert list(done.cache.shelves) == ["predicted 2", "predicted 3", "oracle 2", "oracle 3"]
    assert "Clients requested" in run_page(open_run(tmp_path / "run"))
    assert len({each.spec.sha256() for each in (done, other, plain)}) == 3
    assert (tmp_path / "plain" / MODEL_FILE).read_bytes() == (tmp_path / "run" / MODEL_FILE).read_bytes()
