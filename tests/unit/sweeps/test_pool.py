"""Batches: what is there is left alone, notes are passed on."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.batches import Watch, jobs_in
from support.sealing import reseal

from fedradio.runs.folder import (
    SUMMARY_FILE,
)
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps import processes as module
from fedradio.sweeps.pool import RunTask, run_batch

Make = Callable[..., Spec]


def test_what_is_there_is_not_run_again(tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", ("a worker that must not be started",))
    specs = {"good": tiny(), "diverged": tiny("rule.lr=0.2"), "other": tiny("rule.lr=0.3")}
    for name in ("good", "other"):
        run(tiny(), tmp_path / name)
    run(specs["diverged"], tmp_path / "diverged")
    reseal(tmp_path / "diverged", status="diverged")
    watch = Watch()
    outcomes = run_batch(jobs_in(tmp_path, specs), observer=watch)
    assert [(one.status, one.fresh, one.exit_code) for one in outcomes] == [
        ("complete", False, 0),
        ("diverged", False, 3),
        ("failed", False, 5),
    ]
    assert "a different rule.lr" in str(outcomes[2].error)
    assert watch.said[1:] == [
        ("ended", "good", "complete", 1, 3),
        ("ended", "diverged", "diverged", 2, 3),
        ("ended", "other", "failed", 3, 3),
    ]
    (tmp_path / "other" / SUMMARY_FILE).unlink()  # killed: no summary, but still the folder of another run
    assert "a different rule.lr" in str(run_batch(jobs_in(tmp_path, specs))[2].error)
    assert [one.status for one in run_batch([])] == []
    with pytest.raises(ValueError, match="same folder"):
        run_batch([RunTask(tiny(), tmp_path / "a", "a"), RunTask(tiny(), tmp_path / "b" / ".." / "a", "b")])


@pytest.mark.usefixtures("fakes")
def test_notes_of_runs_are_passed_on(tiny: Make, tmp_path: Path) -> None:
    watch = Watch()
    run_batch(jobs_in(tmp_path, {"note": tiny()}), observer=watch)
    assert watch.said[1:] == [("noted", "note", "other torch"), ("ended", "note", "complete", 1, 1)]
    run_batch(jobs_in(tmp_path, {"note": tiny()}))
