"""Every name of version 0.2 exists today, or the page "From 0.2 to 0.3" says what to do instead."""

from __future__ import annotations

import json
import re

import pytest
from support import recorded
from support.page_commands import GONE
from support.public_names import STORED, exists, public_names

BEFORE: dict[str, list[str]] = json.loads(STORED.read_text(encoding="utf-8"))
WORD = re.compile(r"[\w-]+")


def first_cells() -> list[set[str]]:
    """The words of the first column, row by row."""
    lines = GONE.read_text(encoding="utf-8").splitlines()
    return [set(WORD.findall(line.split(" | ")[0])) for line in lines if line.startswith("| ")]


ROWS = first_cells()


def on_the_page(name: str) -> bool:
    """Whether a row names it: all words of the name, such as a command and its option, stand in the first column."""
    return any(set(WORD.findall(name)) - {"fedradio"} <= row for row in ROWS)


def with_what_contains_it(name: str) -> list[str]:
    """A Python name, and its class and modules below the package: who is without a class is without its fields."""
    words = name.split(".")
    return [".".join(words[:length]) for length in range(2, len(words) + 1)]


def test_python_names_exist_or_are_on_the_page() -> None:
    gone = [name for name in BEFORE["python"] if not exists(name)]
    assert "fedradio.selection_figure" in gone
    assert [name for name in gone if not any(map(on_the_page, with_what_contains_it(name)))] == []


@pytest.mark.parametrize("sort", ["commands", "keys", "specs", "quantities", "pages", "examples"])
def test_names_exist_or_are_on_the_page(sort: str) -> None:
    gone = set(BEFORE[sort]) - set(public_names()[sort])
    assert sorted(name for name in gone if not on_the_page(name)) == []


def test_figures_and_columns_exist_or_are_on_the_page() -> None:
    today = json.loads(recorded.ANSWERS.read_text(encoding="utf-8"))
    columns = {re.sub(r"^cache\.\w+\.", "cache.NAME.", name) for one in today["tables"]["run"].values() for name in one}
    gone = {*BEFORE["columns"], *BEFORE["figures"]} - columns - {*today["figures"]["run"], *today["figures"]["sweep"]}
    assert gone == {"cache.NAME.revenue"}
    assert all(map(on_the_page, gone))
