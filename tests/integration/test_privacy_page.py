"""The page about the request protocol: its tables come from the code, and its Python block runs."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from support.scripts import script

PAGE = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("docs/hooks.py", monkeypatch)


def test_the_tables_of_the_page(hooks: ModuleType) -> None:
    text = hooks.on_page_markdown(PAGE).replace("\u00a0", " ")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:2] == "| "]
    fields = "ticket 16, order 80, temporary name 4"
    assert ["7", "ISP to BS", "order with temporary name", fields, "100"] in rows
    assert ["order", "group key", "content 4, nonce 16, payload key 32", "80"] in rows
    assert ["payload", "payload key", "file", "1,000,256"] in rows
    assert ["size of the payload", *["yes"] * 8] in rows
    assert ["content", "yes", "-", "-", "yes", "yes", "-", "yes", "yes"] in rows
    assert ["key of the epoch", "nothing", "content"] in rows


def test_the_python_block_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(block, {})
    said = re.findall(r"^print.*# (\w+)", block, re.MULTILINE)
    assert capsys.readouterr().out.split() == said
    assert len(said) == 4
