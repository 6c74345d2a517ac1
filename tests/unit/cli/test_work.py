"""``fedradio work``: what it says of runs made here, there before, and held by others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Call

from fedradio.spec.spec import load_spec
from fedradio.sweeps.pool import Outcome, RunTask


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[Outcome]:
    """Outcomes of the runs of a sweep."""
    found: list[Outcome] = []
    monkeypatch.setattr("fedradio.sweeps.work.work", lambda *_, **__: found)
    return found


def outcome(status: str, code: int = 0, fresh: bool = True, error: str | None = None) -> Outcome:
    return Outcome(RunTask(load_spec("demo"), Path("s/runs/a"), "a"), status, error, fresh, code)


def test_what_others_hold_is_no_failure(call: Call, ends: list[Outcome]) -> None:
    ends += [outcome("complete"), outcome("complete", fresh=False), outcome("held", 5, error="in use")]
    done = call("work", "s")
    assert done.exit_code == 0
    assert "1 of 3 runs made here (2 complete, 1 held); sweep folder: s" in done.output
    assert "in use" not in done.output
    assert call("work", "s", "-q").output == "s\n"


@pytest.mark.parametrize(("status", "code"), [("diverged", 3), ("failed", 5)])
def test_exit_codes(status: str, code: int, call: Call, ends: list[Outcome]) -> None:
    ends += [outcome("complete"), outcome(status, code, error="no luck")]
    done = call("work", "s")
    assert done.exit_code == code
    assert "no luck" in done.output


def test_an_interruption_says_how_to_go_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(folder: Path, **_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedradio.sweeps.work.work", stop)
    done = call("work", "s")
    assert "repeat the command to resume" in done.output
