"""One run made for somebody else, through a mailbox: in the same folder, or in one of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.batches import made

from fedradio.remote import ray_task as module
from fedradio.remote.courier import Mailbox
from fedradio.remote.node import this_node
from fedradio.remote.ray_task import make_run, probe_name
from fedradio.remote.shipping import held_files, store
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.tasks import NOT_BEGUN

Make = Callable[..., Spec]


class Asker:
    """Whoever asks for a run, with a mailbox that answers at once."""

    def __init__(self, folder: Path) -> None:
        self.box, self.folder, self.events = Mailbox(), folder, []
        self.refuses = ""

    def __call__(self, method: str, *arguments: Any) -> Any:
        answer = getattr(self.box, method)(*arguments)
        for number, message in self.box.take():
            self.events.append(message["event"])
            if message["event"] == "want":
                self.box.answer(number, {"error": self.refuses, "files": held_files(self.folder)})
            elif message["event"] == "files":
                self.folder.mkdir(exist_ok=True)
                store(self.folder, message)
        return answer


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def task(spec: Spec, folder: Path) -> dict[str, Any]:
    setting = {"device": "cpu", "workers": 1, "parts": [], "skip_held": False}
    return {"spec": spec.plain, "folder": str(folder), **setting}


def test_with_and_without_a_shared_folder_the_same_is_made(tiny: Make, tmp_path: Path, place: Path) -> None:
    run(tiny(), tmp_path / "alone")
    (tmp_path / probe_name("abc")).touch()
    for name, token, events in (("shared", "abc", ["round"]), ("apart", "def", ["want", "round", "files"])):
        asker = Asker(tmp_path / name)
        end = make_run(0, task(tiny(), tmp_path / name), asdict(this_node()), token, asker)
        assert (end["status"], end["error"]) == ("complete", None)
        assert [*dict.fromkeys(asker.events)] == events  # a slow machine reports several times
        assert made(tmp_path / name) == made(tmp_path / "alone")
        assert [*place.iterdir()] == []


def test_refusals_are_ends_of_their_own(tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asker, given = Asker(tmp_path / "run"), task(tiny(), tmp_path / "run")
    older = asdict(replace(this_node(), torch="0.1"))
    end = make_run(0, given, older, "abc", asker)
    assert (end["status"], end["exit_code"]) == ("failed", 2)
    lacking = asdict(this_node()) | {"parts": [(str(tmp_path / "mine.py"), "0" * 64, {})]}
    assert "mine.py" in make_run(0, given, lacking, "abc", asker)["error"]
    asker.refuses = "it is in use"
    end = make_run(0, given, asdict(this_node()), "abc", asker)
    assert (end["status"], end["error"], end["exit_code"]) == ("failed", "it is in use", 5)
    monkeypatch.setattr(module, "ANSWER_PATIENCE_S", 0.0)
    assert "no answer for" in make_run(0, given, asdict(this_node()), "abc", asker)["error"]
    asker.box.stop()
    assert make_run(0, given, asdict(this_node()), "abc", asker)["status"] == NOT_BEGUN
    assert not (tmp_path / "run").exists()
