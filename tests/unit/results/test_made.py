"""Runs made from Python: with and without a folder, from a spec, its name, or parts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import worlds

from fedradio.core.contracts import ExchangeRecord, RoundRecord
from fedradio.core.errors import SpecError, StoreError
from fedradio.results.made import resume, run
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


class Told(Observer):
    def __init__(self) -> None:
        self.events: list[str] = []

    def started(self, *_: object) -> None:
        self.events.append("started")

    def recorded(self, *_: object) -> None:
        self.events.append("recorded")

    def advanced(self, *_: object) -> None:
        self.events.append("advanced")


def test_in_memory_and_in_a_folder_are_the_same(cells: Make, tmp_path: Path) -> None:
    told = Told()
    stored, kept = run(cells(), tmp_path / "a"), run(cells(), observer=told)
    for name in (
        "accuracy",
        "best_accuracy",
        "loss",
        "time_s",
        "energy_j",
        "bits",
        "arrived",
        "name",
        "seed",
        "clients",
    ):
        assert getattr(stored, name) == getattr(kept, name), name
    one, other = stored.curve("accuracy", "joules"), kept.curve("accuracy", "joules")
    assert one is not None
    assert other is not None
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()
    assert [record.t for record in kept.records(RoundRecord)] == [0, 1]
    assert kept.tallies == stored.tallies
    assert told.events == ["started", "recorded", "advanced", "recorded", "advanced"]
    with pytest.raises(StoreError, match=r"run\(spec, out\)"):
        kept.records(ExchangeRecord)


def test_the_words_of_the_command_line(source: Path, tmp_path: Path) -> None:
    made = run(source, tmp_path / "a", changes=["rule.lr=0.5"], seed=9, rounds=1)
    assert (made.seed, len(made.rounds), made.spec.plain["rule"]["lr"]) == (9, 1, 0.5)
    longer = resume(tmp_path / "a", rounds=2)
    assert len(longer.rounds) == 2
    assert run(made.spec, changes=["rule.lr=0.25"]).spec.plain["rule"]["lr"] == 0.25
    with pytest.raises(SpecError, match="unknown key"):
        run(made.spec, changes=["rule.speed=1"])


def test_a_composed_simulation(tmp_path: Path) -> None:
    made = run(worlds.tiny(), tmp_path / "a", rounds=2, name="mine")
    assert (made.name, made.status, len(made.rounds)) == ("mine", "complete", 2)
    assert run(worlds.tiny(), rounds=2).accuracy == made.accuracy
    with pytest.raises(SpecError) as caught:
        run(worlds.tiny(), changes=["rule.lr=1"], seed=8)
    assert [problem.path for problem in caught.value.problems] == ["changes", "seed", "rounds"]
