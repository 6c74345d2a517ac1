"""Comparisons: hand-made runs with known means, differences and targets; then real ones."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.past import past, two_algorithms
from support.records import evaluation

from fedradio.core.errors import SpecError, StoreError
from fedradio.results.compare import bands, compare, differing_worlds
from fedradio.results.run import Run, open_runs
from fedradio.results.variants import variants
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def test_runs_in_which_nobody_took_part_are_marked(tiny: Make) -> None:
    busy, idle = past(tiny("seed=1"), [0.5]), past(tiny("seed=2", "algorithm=fedprox"), [0.1], clients=0.0)
    assert "no client took part in: algorithm=fedprox" in compare([busy, idle]).notes
    assert not any("nobody" in note for note in compare([busy]).notes)


def test_a_file_that_changed_between_runs_is_told(tiny: Make) -> None:
    runs = [past(tiny(f"seed={seed}"), [0.5]) for seed in (1, 2)]
    for each, checksum in zip(runs, "aa", strict=True):
        each.environment["files"] = {"mine.csv": checksum}
    told = "mine.csv changed between these runs, so they do not use the same data"
    assert told not in compare(runs).notes
    runs[1].environment["files"] = {"mine.csv": "b"}
    assert told in compare(runs).notes


@pytest.fixture
def pair(tiny: Make) -> list[Run]:
    return two_algorithms(tiny)


def test_means_and_intervals_over_seeds(pair: list[Run]) -> None:
    first, second = compare(pair).rows
    assert (first.label, first.seeds, first.rounds) == ("algorithm=fedavg", [1, 2, 3], [2, 2, 2])
    assert first.last is not None
    assert first.last.mean == pytest.approx(0.6)
    assert first.last.half == pytest.approx(0.2484138, abs=1e-6)
    assert first.best is not None
    assert (first.best.mean, first.best.half) == pytest.approx((0.8, 0.0))
    assert second.last is not None
    assert second.last.mean == pytest.approx(0.62)
    assert first.curve == pytest.approx([0.8, 0.6])
    spent = {name: None if value is None else value.mean for name, value in first.spent.items()}
    assert spent.pop("bits_per_client") == 4.0
    assert spent == {"seconds": None, "joules": 4.0, "bits": 20.0, "uses": None, "clients": 4.0}


def test_differences_are_paired_by_seed(pair: list[Run]) -> None:
    found = compare(pair)
    assert found.baseline == "algorithm=fedavg"
    (one,) = found.differences
    assert (one.label, one.seeds, one.worlds) == ("algorithm=fedprox", [1, 2, 3], [])
    assert one.last is not None
    assert one.last.mean == pytest.approx(0.02)
    assert one.last.half == pytest.approx(0.02484138, abs=1e-7)
    assert one.best is not None
    assert one.best.mean == pytest.approx(0)
    (back,) = compare(pair, baseline="fedprox").differences
    assert back.last is not None
    assert back.last.mean == pytest.approx(-0.02)


@pytest.mark.parametrize("words", ["fedprox", "rule.lr=0.2, algorithm=fedprox", "algorithm=fedprox, rule.lr=0.2"])
def test_the_baseline_is_named_by_enough_words(tiny: Make, words: str) -> None:
    changes = [("rule.lr=0.2",), ("rule.lr=0.2", "algorithm=fedprox"), ("rule.lr=0.5",)]
    runs = [past(tiny(*change), [0.5]) for change in changes]
    assert compare(runs, baseline=words).baseline == "rule.lr=0.2, algorithm=fedprox"
    with pytest.raises(SpecError, match="several variants match"):
        compare(runs, baseline="rule.lr=0.2")


def test_only_common_seeds_make_pairs(pair: list[Run], tiny: Make) -> None:
    found = compare([*pair[:2], *pair[3:5]])  # seeds 1, 2 against 3, 2
    assert found.differences[0].seeds == [2]
    assert found.differences[0].last is not None
    assert found.differences[0].last.half is None
    apart = compare([pair[0], pair[3]])
    assert apart.differences[0].last is None
    assert any("no seed in common" in note for note in apart.notes)
    assert any("no confidence interval" in note for note in apart.notes)


def test_pairs_of_other_worlds_are_told(tiny: Make, cells: Make) -> None:
    def worlds(*changes: str) -> list[str]:
        return compare([past(tiny(), [0.5]), past(tiny(*changes), [0.5])]).differences[0].worlds

    assert worlds("rule.lr=0.7") == []
    assert worlds("world_seed=6") == ["world_seed"]
    assert worlds("data.partition={kind: dirichlet, alpha: 0.5}")[0] == "data.partition.kind"
    assert worlds("topology.clients=7", "rule.lr=0.7") == ["topology.clients"]
    assert "hops.0.fleet.kind" in worlds("hops.0.fleet=cellular")
    assert "hops.1.channel" in differing_worlds(cells(), tiny())


def test_other_models_are_told(tiny: Make) -> None:
    def models(*changes: str) -> list[str]:
        return compare([past(tiny(), [0.5]), past(tiny(*changes), [0.5])]).differences[0].models

    assert models("rule.lr=0.7") == []
    assert models("model=logistic")[0] == "model.kind"
    assert models("model.hidden=[3]") == ["model.hidden"]


def test_what_it_took_to_reach_a_target(tiny: Make) -> None:
    runs = [
        past(tiny("seed=1"), [0.2, 0.6, 0.5, 0.9]),
        past(tiny("seed=2"), [0.1, 0.2, 0.3, 0.6]),
        past(tiny("seed=3"), [0.1, 0.1, 0.1, 0.1]),
    ]
    (found,) = compare(runs, target=0.6).reaches
    assert found.seeds == {
        1: {"rounds": 2, "seconds": None, "joules": 4, "bits": 20, "uses": None},
        2: {"rounds": 4, "seconds": None, "joules": 8, "bits": 40, "uses": None},
        3: None,
    }
    assert found.reached == 2
    assert found.mean["seconds"] is None
    assert found.mean["joules"] is not None
    assert found.mean["joules"].mean == 6
    (never,) = compare(runs, target=0.95).reaches
    assert (never.reached, set(never.mean.values())) == (0, {None})


def test_losses_are_better_when_lower(tiny: Make) -> None:
    found = compare([past(tiny(), [0.2, 0.9, 0.5])], metric="loss", target=0.4)
    assert not found.rising
    assert found.rows[0].best is not None
    assert found.rows[0].best.mean == pytest.approx(0.1)
    assert found.reaches[0].seeds[3] == {"rounds": 2, "seconds": None, "joules": 4, "bits": 20, "uses": None}


def test_runs_that_are_not_complete_are_told_and_never_averaged(tiny: Make) -> None:
    runs = [
        past(tiny("seed=1"), [0.5]),
        past(tiny("seed=2"), [0.9], status="diverged"),
        past(tiny("seed=3"), [0.9], status=None),
        past(tiny("seed=1", "name=other"), [0.9], status="interrupted"),
    ]
    found = compare(runs)
    assert found.rows[0].seeds == [1]
    assert found.rows[0].last is not None
    assert found.rows[0].last.mean == 0.5
    assert found.rows[1].last is None
    assert found.rows[1].spent["joules"] is None
    assert [(one.seed, one.status) for one in found.left_out] == [
        (2, "diverged"),
        (3, "unfinished"),
        (1, "interrupted"),
    ]
    with pytest.raises(StoreError, match="no run is complete"):
        compare(runs[1:])


def test_different_lengths_and_versions_are_told(tiny: Make) -> None:
    runs = [past(tiny(), [0.5, 0.6]), past(tiny("rounds=1"), [0.5])]
    runs[1].environment["fedradio"] = "0.2"
    notes = compare(runs).notes
    assert any(note == "different numbers of rounds: rounds=2 2; rounds=1 1" for note in notes)
    assert any("0.1, 0.2" in note for note in notes)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"metric": "acuracy"}, ["--metric", "did you mean 'accuracy'?"]),
        ({"metric": "xyz"}, ["available in all runs: accuracy, loss"]),
        ({"baseline": "algorithm=fedpro"}, ["--baseline", "did you mean 'algorithm=fedprox'?"]),
        ({"baseline": "x"}, ["one of: algorithm=fedavg; algorithm=fedprox"]),
        ({"target": 90.0}, ["--target", "between 0 and 1"]),
        ({"target": float("nan")}, ["--target", "finite"]),
        ({"metric": "acuracy", "baseline": "x", "target": float("inf")}, ["--metric", "--baseline", "--target"]),
    ],
)
def test_wrong_requests(pair: list[Run], request_: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SpecError) as error:
        compare(pair, **request_)
    assert all(word in str(error.value) for word in words)


def test_metrics_that_only_some_runs_have_are_refused(pair: list[Run]) -> None:
    for one in pair[3:]:
        for record in one.evaluations:
            record.metrics["personal_accuracy"] = 0.5
    with pytest.raises(SpecError, match="not measured in: algorithm=fedavg"):
        compare(pair, metric="personal_accuracy")


def test_bands_leave_out_what_is_undefined(tiny: Make) -> None:
    runs = [past(tiny(), [0.5, 0.7]), past(tiny("name=free"), [0.5, 0.7], joules=None)]
    assert set(bands(variants(runs), "accuracy")) == {"tiny", "free"}
    found = bands(variants(runs), "accuracy", "joules")
    assert set(found) == {"tiny"}
    assert found["tiny"].x.tolist() == [2, 4]
    assert bands(variants(runs), "accuracy", "seconds") == {}


def test_real_runs_as_json(cells: Make, tmp_path: Path) -> None:
    for seed in (1, 2):
        run(cells(f"seed={seed}"), tmp_path / f"a{seed}")
        run(cells(f"seed={seed}", "algorithm=scaffold"), tmp_path / f"b{seed}")
    found = compare(open_runs(*sorted(tmp_path.iterdir())), target=0.0)
    told = json.loads(json.dumps(asdict(found), allow_nan=False))
    one, other = told["rows"]
    assert (one["seeds"], other["algorithm"]) == ([1, 2], "scaffold")
    assert other["spent"]["bits"]["mean"] == pytest.approx(2 * one["spent"]["bits"]["mean"])
    assert told["reaches"][0]["seeds"]["1"]["rounds"] == 1
    assert told["differences"][0]["worlds"] == []


def test_directions_are_those_that_runs_declare(tiny: Make) -> None:
    """The name alone says nothing, and more would be better."""
    run = past(tiny("seed=1"), [0.8, 0.5, 0.6])
    run.__dict__["evaluations"] = [evaluation(t, accuracy=0.5, regret=r) for t, r in enumerate((0.8, 0.5, 0.6), 1)]
    assert compare([run], "regret").rising
    run.__dict__["declared_metrics"] = {"regret": {"unit": "", "better": "less"}}
    found = compare([run], "regret")
    assert not found.rising
    assert found.rows[0].best is not None
    assert found.rows[0].best.mean == 0.5
