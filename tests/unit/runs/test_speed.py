"""What this machine has measured: written by runs, ignored elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.contracts import RoundRecord
from fedradio.runs import speed as speeds
from fedradio.runs.run import Observer, run
from fedradio.runs.speed import Speed, measured, measured_speed, note_run, note_units, speed_file, speed_key
from fedradio.spec.spec import Spec

ONE = '"one": 3.0'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("rounds", "speed"),
    [
        ([], None),
        ([(3.0, True)], None),
        ([(9.0, False), (2.0, False), (2.0, False), (5.0, True)], Speed(2.0, 3.0)),
        ([(4.0, False), (6.0, True)], Speed(4.0, 2.0)),  # the first is the only one of its kind
        ([(9.0, False), (6.0, True)], Speed(6.0, 0.0)),  # it warmed up for longer than an evaluation takes
        ([(9.0, True), (3.0, True), (5.0, True)], Speed(4.0, 0.0)),
        ([(9.0, True), (2.0, False), (8.0, True), (4.0, False)], Speed(3.0, 5.0)),
    ],
)
def test_speed_by_hand(rounds: list[tuple[float, bool]], speed: Speed | None) -> None:
    assert measured_speed(rounds) == speed


@pytest.mark.parametrize(("rounds", "every", "seconds"), [(10, 5, 26.0), (10, 4, 29.0), (1, 20, 5.0), (4, 1, 20.0)])
def test_a_run_takes_its_rounds_and_evaluations(rounds: int, every: int, seconds: float) -> None:
    """Two seconds a round, three an evaluation; the last round is always evaluated."""
    assert Speed(2.0, 3.0).run_s(rounds, every) == pytest.approx(seconds)


def test_what_does_not_change_a_round_shares_its_speed(tiny: Callable[..., Spec]) -> None:
    alike = ("seed=9", "world_seed=4", "rounds=70", "eval_every=2", "name=other", "about=else")
    assert speed_key(tiny(*alike)) == speed_key(tiny())
    assert speed_key(tiny("rule.batch=8")) != speed_key(tiny())


def test_speeds_are_kept_and_the_latest_counts(tiny: Callable[..., Spec], home: Path) -> None:
    spec, other = tiny(), tiny("rule.batch=8")
    note_run(spec, [(4.0, False), (6.0, True)])
    note_run(other, [(2.0, False), (2.5, True)])
    note_run(spec, [(5.0, False), (6.0, True)])
    note_units({"one": 3.0, "two": 4.0})
    note_units({"one": 5.0})
    found = measured()
    assert found.rounds == {speed_key(spec): Speed(5.0, 1.0), speed_key(other): Speed(2.0, 0.5)}
    assert found.units == {"one": 5.0, "two": 4.0}
    assert speed_file() == home / "speed.json"


def test_the_oldest_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "MOST", 2)
    for label in ("one", "two", "one", "three"):
        note_units({label: 1.0})
    assert list(measured().units) == ["one", "three"]


def test_short_runs_are_not_noted(tiny: Callable[..., Spec]) -> None:
    note_run(tiny(), [(0.4, False), (0.5, True)])
    note_run(tiny(), [(40.0, True)])
    assert not speed_file().exists()


@pytest.mark.parametrize("key", ["node", "cpu", "cores", "torch", "fedradio"])
def test_another_machine_or_version_does_not_count(key: str) -> None:
    note_units({"one": 3.0})
    stored = json.loads(speed_file().read_text())
    stored["machine"][key] = "another"
    speed_file().write_text(json.dumps(stored))
    assert not measured().units
    note_units({"two": 2.0})
    assert measured().units == {"two": 2.0}


@pytest.mark.parametrize(
    ("old", "new"),
    [(ONE, '"one": NaN'), (ONE, '"one": "x"'), (ONE, '"one": -1'), ("{", "["), ("units", "u")],
)
def test_a_damaged_file_does_not_count(old: str, new: str) -> None:
    note_units({"one": 3.0})
    text = speed_file().read_text()
    assert old in text
    speed_file().write_text(text.replace(old, new, 1))
    assert not measured().units
    note_units({"two": 2.0})
    assert measured().units == {"two": 2.0}


def test_a_folder_that_cannot_be_written_is_no_error(home: Path) -> None:
    home.write_text("a file in the way")
    note_units({"one": 3.0})
    assert not measured().units


def test_a_run_notes_its_speed(tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(speeds, "LEAST_S", 0.0)
    spec = tiny("rounds=4", "eval_every=2")
    summary = run(spec, tmp_path / "one", workers=1)
    speed = measured().rounds[speed_key(spec)]
    assert summary.cpu_s is not None
    assert 0 < speed.round_s <= summary.cpu_s
    assert not list((tmp_path / "one").rglob("speed*"))
    run(tiny("rounds=1", "rule.batch=8"), workers=1)
    assert list(measured().rounds) == [speed_key(spec)]


class Stops(Observer):
    """Asks for the end after three rounds."""

    def recorded(self, record: RoundRecord, exchanges: object) -> None:
        if record.t == 3:
            raise KeyboardInterrupt


def test_an_interrupted_run_notes_its_speed(tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "LEAST_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        run(tiny("rounds=9"), workers=1, observer=Stops())
    assert list(measured().rounds) == [speed_key(tiny())]
