"""The table of defaults is that of the code; a released default that changes is refused, a new key is added."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """``tools/defaults.py``, from its file."""
    found = importlib.util.spec_from_file_location("defaults_tool", ROOT / "tools" / "defaults.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(tool: ModuleType) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(tool.TABLE.read_text(encoding="utf-8"))
    return found


def test_the_table_is_that_of_the_code(tool: ModuleType, stored: dict[str, Any]) -> None:
    """It fails? A new key: run ``python tools/defaults.py``. Another default of a released key: take it back."""
    now = tool.today()
    assert tool.changed(stored, now) == []
    assert stored == now
    assert tool.TABLE.read_text(encoding="utf-8") == tool.text(now)


def test_some_defaults_by_hand(stored: dict[str, Any]) -> None:
    assert stored["spec"]["hops"] == [{}]
    assert stored["spec"]["topology"] == {"kind": "flat"}
    assert stored["hops"]["transforms"] == []
    assert stored["policy/per_client"]["start"] == [1.0, 1.0]
    assert "path" not in stored["source/csv"]  # it is required


def test_a_changed_default_is_refused_and_a_new_key_is_added(
    tool: ModuleType, stored: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(tool, "TABLE", tmp_path / "defaults.json")
    monkeypatch.setattr(tool, "today", lambda: stored)
    lacking = stored | {"rule/sgd": {key: value for key, value in stored["rule/sgd"].items() if key != "lr"}}
    tool.TABLE.write_text(json.dumps(lacking))
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == tool.main(["--check"]) == 0
    assert json.loads(tool.TABLE.read_text()) == stored
    other = json.dumps(stored | {"rule/sgd": stored["rule/sgd"] | {"lr": 77}})
    tool.TABLE.write_text(other)
    assert tool.main([]) == 1
    assert f"rule/sgd.lr: 77 is now {stored['rule/sgd']['lr']}" in capsys.readouterr().out
    assert tool.TABLE.read_text() == other
