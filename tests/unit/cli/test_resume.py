"""``fedradio resume``: what it asks for."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Call


def test_folder_and_options_are_passed_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, dict[str, Any]]] = []
    monkeypatch.setattr("fedradio.runs.resume.resume", lambda folder, **options: asked.append((folder, options)))
    done = call("resume", "some/run", "--rounds", "9", "--workers", "2", "--quiet")
    assert (done.exit_code, done.output) == (0, "some/run\n")
    assert asked == [
        (Path("some/run"), {"rounds": 9, "workers": 2, "observer": None, "changed_parts": False, "backend": None})
    ]
