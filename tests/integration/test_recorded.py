"""A stored run and a stored sweep are still read as before.

Compared are the numbers that ten commands print, the numbers on both pages, columns and values of all exported tables,
and the names of all figures, whose contents are not compared. Words may change, and numbers, columns and figures may be
added. ``support/recorded.py`` says how the answers were recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import recorded


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(recorded.ANSWERS.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    recorded.unpack(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")  # narrow terminals, such as those of xdist's workers, cut wide tables
    return tmp_path


@pytest.mark.usefixtures("here")
def test_ten_commands_tell_the_same_numbers(before: dict[str, Any]) -> None:
    assert list(before["commands"]) == list(recorded.COMMANDS)
    lost = {command: recorded.lost(told, recorded.answer(command)) for command, told in before["commands"].items()}
    assert lost == {command: [] for command in recorded.COMMANDS}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("folder", ["run", "sweep"])
def test_pages_show_the_same_numbers(folder: str, before: dict[str, Any]) -> None:
    assert recorded.lost(before["pages"][folder], recorded.page(folder)) == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("folder", ["run", "sweep"])
def test_exported_tables_have_the_same_columns_and_values(folder: str, before: dict[str, Any]) -> None:
    after = recorded.tables(folder)
    for table, columns in before["tables"][folder].items():
        assert {name: after[table].get(name) for name in columns} == columns, table


@pytest.mark.wide
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("folder", ["run", "sweep"])
def test_figures_have_the_same_names(folder: str, before: dict[str, Any]) -> None:
    assert set(before["figures"][folder]) - set(recorded.figures(folder)) == set()
