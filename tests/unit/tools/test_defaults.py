"""The table of defaults is that of the code; a released default that changes is refused, a new key is added."""

from __future__ import annotations

import importlib.util
import json
import subprocess
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
    table = tool.updated(stored, now)
    assert stored == table
    assert tool.TABLE.read_text(encoding="utf-8") == tool.text(table)


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
    monkeypatch.setattr(tool, "today", lambda: {name: keys for name, keys in stored.items() if name != "gone"})
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


OLD = {"hops": {"late": "stop"}, "rule/sgd": {"lr": 0.1, "momentum": 0.0}, "gone": {}}


@pytest.fixture
def code(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The defaults of the code, for a test to change, in a repository whose table is ``OLD``, also at its tag."""
    place = tmp_path / tool.PLACE
    place.parent.mkdir(parents=True)
    place.write_text(tool.text(OLD), encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "TABLE", place)
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "old"), ("tag", "v1")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    now = {"hops": {"late": "stop"}, "rule/sgd": {"lr": 0.1, "momentum": 0.0}}
    monkeypatch.setattr(tool, "today", lambda: now)
    return now


def test_a_key_that_is_gone_returns_with_its_default_only(
    tool: ModuleType, code: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A keyword and a whole section leave; the keyword comes back with another default, then with the one it had."""
    del code["rule/sgd"]["momentum"]
    hops = code.pop("hops")
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == tool.main(["--check"]) == 0
    gone = {"hops": {"late": "stop"}, "rule/sgd": {"momentum": 0.0}}
    kept = tool.TABLE.read_text()
    assert json.loads(kept) == {"rule/sgd": {"lr": 0.1}, "gone": gone}
    code["rule/sgd"]["momentum"] = 0.9
    capsys.readouterr()
    assert tool.main([]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["rule/sgd.momentum: 0.0 is now 0.9"]
    assert tool.TABLE.read_text() == kept
    code["rule/sgd"]["momentum"] = 0.0
    code["hops"] = hops
    assert tool.main([]) == 0
    assert json.loads(tool.TABLE.read_text()) == OLD


def test_the_table_of_a_version_counts(
    tool: ModuleType, code: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Code and table that were changed together agree with each other, but not with the tag."""
    assert tool.main(["--check", "--against", "v1"]) == 0
    code["rule/sgd"]["lr"] = 0.2
    code["rule/sgd"]["nesterov"] = False
    tool.TABLE.write_text(tool.text({**code, "gone": {}}))
    assert tool.main(["--check"]) == 0
    assert tool.main(["--check", "--against", "v1"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["rule/sgd.lr: 0.1 is now 0.2 (v1)"]
    code["rule/sgd"] = {"momentum": 0.0}
    tool.TABLE.write_text(tool.text({**code, "gone": {}}))
    assert tool.main(["--check", "--against", "v1"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["rule/sgd.lr: lost (v1)"]
    tool.TABLE.write_text(tool.text({**code, "gone": {"rule/sgd": {"lr": 0.1}}}))
    assert tool.main(["--check", "--against", "v1"]) == 0


@pytest.mark.parametrize("revision", ["v2", "HEAD^"])
def test_a_revision_without_a_table_is_refused(tool: ModuleType, code: dict[str, Any], revision: str) -> None:
    with pytest.raises(SystemExit) as stop:
        tool.main(["--check", "--against", revision])
    assert stop.value.code == 2
