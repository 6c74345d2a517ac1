"""Files of a run that is made elsewhere: at any moment the stored ones are what a killed process may have left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from support.batches import made

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import StoreError
from fedradio.remote.shipping import Outbox, files_of_run, held_files, is_of_run, lay_out, store
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.runs.verify import check_run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("records.jsonl", True),
        ("checkpoints/round-000012.json", True),
        ("damaged/model.safetensors.1", True),
        (".lock", False),
        ("thesis.tex", False),
        ("../records.jsonl", False),
        ("/etc/passwd", False),
        ("checkpoints/../../x.json", False),
        ("checkpoints/round-12.json", False),
        ("damaged/../x.1", False),
        ("runs/records.jsonl", False),
    ],
)
def test_only_files_of_a_run_are_stored(name: str, ours: bool, tmp_path: Path) -> None:
    assert is_of_run(name) is ours
    if not ours:
        for shipment in ({"files": [[name, b""]], "names": []}, {"files": [], "names": [name]}):
            with pytest.raises(StoreError, match="not a file of a run"):
                store(tmp_path / "run", {**shipment, "offset": 0, "records": b""})
        assert [*tmp_path.iterdir()] == []


class Shipping(Observer):
    """Sends the files of a run after every round, and says when to stop."""

    def __init__(self, there: Path, here: Path, stop: int) -> None:
        self.outbox = Outbox(there)
        self.here, self.stop = here, stop

    def started(self, sim: Any, spec: Spec, folder: Path | None, done: int) -> None:
        self.ship()

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        self.ship()
        if state.t == self.stop:
            raise KeyboardInterrupt

    def ship(self) -> None:
        shipment = self.outbox.shipment()
        if shipment is not None:
            self.here.mkdir(exist_ok=True)
            store(self.here, shipment)


def test_what_was_sent_can_be_gone_on_with_anywhere(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in round 3 and 5, each time continued elsewhere from what had been sent."""
    monkeypatch.setattr("fedradio.runs.checkpoint.LEAST_S", 0.0)
    spec, here = tiny("rounds=7"), tmp_path / "here"
    for number, stop in enumerate((3, 5, 0)):
        there = tmp_path / f"there-{number}"
        if number:
            there.mkdir()
            lay_out(there, held_files(here))
        watch = Shipping(there, here, stop)
        with pytest.raises(KeyboardInterrupt) if stop else nullcontext():
            _ = resume(there, observer=watch, keep=False) if number else run(spec, there, observer=watch)
        watch.ship()
        assert held_files(here) == held_files(there)
        assert watch.outbox.shipment() is None
    assert not check_run(here, thorough=True).damage
    assert not (here / "checkpoints").exists()
    run(spec, tmp_path / "one go")
    assert made(here) == made(tmp_path / "one go")


def test_what_vouches_for_others_comes_last(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "run")
    shipment = Outbox(tmp_path / "run").shipment()
    assert shipment is not None
    names = [name for name, _ in shipment["files"]]
    assert names[-1] == "summary.json"
    assert names[-2].startswith("checkpoints/")
    assert names[-2].endswith(".json")
    assert set(names) == set(files_of_run(tmp_path / "run")) - {"records.jsonl"}


def test_records_that_do_not_join_are_refused_and_cut_ones_written_anew(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
    outbox, records = Outbox(there), there / "records.jsonl"
    for text in (b"one\ntwo\n", b"one\ntwo\nthree\n", b"one\n"):
        records.write_bytes(text)
        shipment = outbox.shipment()
        assert shipment is not None
        store(here, shipment)
        assert (here / "records.jsonl").read_bytes() == text
    records.write_bytes(b"one\nfour\n")
    shipment = outbox.shipment()
    assert shipment is not None
    (here / "records.jsonl").write_bytes(b"o")
    with pytest.raises(StoreError, match="records are missing"):
        store(here, shipment)
    assert Outbox(tmp_path / "nothing").shipment() is None
