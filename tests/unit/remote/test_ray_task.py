"""One run made for a pool, through a mailbox: in the shared folder, or not at all."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.batches import made

from fedradio.remote.courier import Mailbox
from fedradio.remote.node import this_node
from fedradio.remote.ray_task import make_run, probe_name
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.tasks import NOT_BEGUN

Make = Callable[..., Spec]


class Asker:
    """A pool with its mailbox; ``events`` are those of the messages that have come."""

    def __init__(self) -> None:
        self.box, self.events = Mailbox(), []

    def __call__(self, method: str, *arguments: Any) -> Any:
        answer = getattr(self.box, method)(*arguments)
        self.events += [message["event"] for _, message in self.box.take()]
        return answer


@pytest.fixture
def token(tmp_path: Path) -> str:
    """The token of a probe in the folder of the runs."""
    (tmp_path / probe_name("abc")).touch()
    return "abc"


def task(spec: Spec, folder: Path) -> dict[str, Any]:
    setting = {"device": "cpu", "workers": 1, "parts": [], "skip_held": False}
    return {"spec": spec.plain, "folder": str(folder), **setting}


def test_a_run_is_made_in_its_folder(tiny: Make, tmp_path: Path, token: str) -> None:
    run(tiny(), tmp_path / "alone")
    asker = Asker()
    end = make_run(0, task(tiny(), tmp_path / "run"), asdict(this_node()), token, asker)
    assert (end["status"], end["error"]) == ("complete", None)
    assert {*asker.events} == {"round"}
    assert made(tmp_path / "run") == made(tmp_path / "alone")


def test_a_machine_without_the_folder_makes_nothing(tiny: Make, tmp_path: Path) -> None:
    end = make_run(0, task(tiny(), tmp_path / "run"), asdict(this_node()), "def", Asker())
    assert end == {"event": "not shared", "machine": platform.node()}
    assert [*tmp_path.iterdir()] == []


def test_refusals_are_ends_of_their_own(tiny: Make, tmp_path: Path, token: str) -> None:
    asker, given = Asker(), task(tiny(), tmp_path / "run")
    older = asdict(replace(this_node(), torch="0.1"))
    end = make_run(0, given, older, token, asker)
    assert (end["status"], end["exit_code"]) == ("failed", 2)
    lacking = asdict(this_node()) | {"parts": [(str(tmp_path / "mine.py"), "0" * 64, {})]}
    assert "mine.py" in make_run(0, given, lacking, token, asker)["error"]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    end = make_run(0, given, asdict(this_node()), token, asker)
    assert (end["status"], end["exit_code"]) == ("failed", 5)
    asker.box.stop()
    assert make_run(0, given, asdict(this_node()), token, asker)["status"] == NOT_BEGUN
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]
