"""The sentence with the counts of shipped results on pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.scripts import script

SENTENCE = (
    "31 of 69 tables, figures and studies were run with all their rows. Of 160 claims, 35 hold and 9 do not hold."
)
NEW = SENTENCE.replace("31", "47").replace("35", "60")
BEGIN = SENTENCE.replace(" and 9", "\nand 9")
PAGE = f"# Title\n\nBefore. {BEGIN} After.\n\n```\ncode\n```\n\n- one\n- two {SENTENCE}\n- three\n"


def test_the_sentence_is_replaced_and_the_rest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = script("tools/counts.py", monkeypatch)
    found = tool.with_counts(PAGE, NEW)
    assert " ".join(found.split()) == " ".join(PAGE.split()).replace(SENTENCE, NEW)
    assert max(map(len, found.splitlines())) <= 120
    assert "\n\n```\ncode\n```\n\n- one\n- two 47 of" in found
    assert "\n- three\n" in found
    assert tool.with_counts("nothing here\n", NEW) == "nothing here\n"


def test_the_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = script("tools/counts.py", monkeypatch)
    pages = (*tool.PAGES, tool.ROWS)
    before = {name: (tool.ROOT / name).read_text(encoding="utf-8") for name in pages}
    for name, text in before.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    tool.main()
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in pages} == before
