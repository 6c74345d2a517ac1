"""Runs of the same spec are one cell; labels tell cells apart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.results.run import Run
from fedradio.results.variants import flatten, labels, variants
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def past(spec: Spec, name: str = "run", evaluations: tuple[dict[str, float], ...] = ()) -> Run:
    """A run that is only pretended."""
    found = Run(Path(name), spec, {"status": "complete"})
    found.__dict__["evaluations"] = list(evaluations)
    return found


def test_cells_hold_the_seeds_of_one_spec(tiny: Make) -> None:
    runs = [past(tiny("seed=2", "about=x")), past(tiny("algorithm=fedprox")), past(tiny("seed=1"))]
    found = variants(runs)
    assert [cell.label for cell in found] == ["algorithm=fedavg", "algorithm=fedprox"]
    assert [list(cell.runs) for cell in found] == [[1, 2], [3]]
    assert found[1].algorithm == "fedprox"
    assert found[0].runs[2] is runs[0]


def test_runs_of_the_same_spec_and_seed_are_variants_of_their_own(tiny: Make) -> None:
    specs = {"x/a": tiny(), "x/b": tiny(), "c": tiny("seed=9"), "d": tiny("name=other"), "e": tiny("name=other")}
    found = variants([past(spec, name) for name, spec in specs.items()])
    assert [(one.label, list(one.runs)) for one in found] == [
        ("tiny in .", [3, 9]),
        ("tiny in x/b", [3]),
        ("other in d", [3]),
        ("other in e", [3]),
    ]


def test_copies_in_one_folder_are_counted(tiny: Make) -> None:
    runs = [past(tiny(f"seed={seed}"), f"{name}{seed}") for name in "ab" for seed in (1, 2)]
    assert [(one.label, list(one.runs)) for one in variants(runs)] == [
        ("tiny, copy 1", [1, 2]),
        ("tiny, copy 2", [1, 2]),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["name=a", "name=b"], ["a", "b"]),
        (["rule.lr=0.1", "rule.lr=0.5"], ["rule.lr=0.1", "rule.lr=0.5"]),
        (["name=a", "rounds=3", "rounds=4"], ["a", "tiny: rounds=3", "tiny: rounds=4"]),
        (["algorithm=fedavg", "algorithm=scaffold"], ["algorithm=fedavg", "algorithm=scaffold"]),
        (["rounds=3"], ["tiny"]),
    ],
)
def test_labels_tell_specs_apart(tiny: Make, changes: list[str], words: list[str]) -> None:
    assert labels([tiny(change) for change in changes]) == words


def test_labels_tell_keywords_of_one_kind_only_where_these_differ(tiny: Make) -> None:
    changes = ("algorithm=fedavg", "algorithm={kind: fedprox, mu: 0.1}", "algorithm={kind: fedprox, mu: 0.5}")
    assert labels([tiny(change) for change in changes]) == [
        "algorithm=fedavg",
        "algorithm=fedprox, algorithm.mu=0.1",
        "algorithm=fedprox, algorithm.mu=0.5",
    ]


def test_flatten() -> None:
    nested = {"a": {"b": 1}, "hops": [{"x": None}, {"x": 2}], "list": [1, 2], "empty": []}
    assert dict(flatten(nested)) == {"a.b": 1, "hops.0.x": None, "hops.1.x": 2, "list": [1, 2], "empty": []}


def test_labels_tell_close_numbers_apart(tiny: Callable[..., Spec]) -> None:
    assert labels([tiny("rule.lr=0.1000001"), tiny("rule.lr=0.1")]) == ["rule.lr=0.1000001", "rule.lr=0.1"]
