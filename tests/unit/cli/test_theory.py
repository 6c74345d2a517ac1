"""``fedradio theory``: what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Call

from fedradio.cli import theory as module


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def assess(folder: Path, *, progress: object, **options: Any) -> str:
        found.append({"folder": folder, **options})
        return "a bound"

    monkeypatch.setattr(module, "assess", assess)
    monkeypatch.setattr(module, "assessment_view", lambda found: found)
    return found


def test_constants_that_are_given_go_by_their_names(call: Call, asked: list[dict[str, Any]]) -> None:
    done = call("theory", "run", "--replay", "1", "--smoothness", "8", "--edge-divergence", "0", "--gap", "2.5")
    assert done.output == "a bound\n"
    given = {"smoothness": 8.0, "edge_divergence": 0.0, "gap": 2.5}
    assert asked == [{"folder": Path("run"), "paper": "rawhfl", "rounds": 1, "given": given}]


def test_everything_is_estimated_unless_given(call: Call, asked: list[dict[str, Any]]) -> None:
    call("theory", "run")
    assert asked[0]["given"] == {}
