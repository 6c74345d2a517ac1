"""``fedradio theory``: what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Call

from fedradio.cli import theory as module
from fedradio.core.errors import SpecError


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
    assert asked == [{"folder": Path("run"), "paper": None, "rounds": 1, "given": given}]


def test_any_constant_of_a_paper_can_be_set(call: Call, asked: list[dict[str, Any]]) -> None:
    call("theory", "run", "--paper", "osafl", "--set", "rho_1=2", "--set", "shift = 0.5", "--variance", "1")
    assert asked[0]["paper"] == "osafl"
    assert asked[0]["given"] == {"variance": 1.0, "rho_1": 2.0, "shift": 0.5}


def test_everything_is_estimated_unless_given(call: Call, asked: list[dict[str, Any]]) -> None:
    call("theory", "run")
    assert asked[0]["given"] == {}


@pytest.mark.parametrize("text", ["rho_1", "rho_1=two", "rho_1="])
def test_a_constant_without_a_number_is_refused(call: Call, asked: list[dict[str, Any]], text: str) -> None:
    error = call("theory", "run", "--set", text).exception
    assert isinstance(error, SpecError)
    assert "not a name and a number" in str(error)
    assert asked == []
