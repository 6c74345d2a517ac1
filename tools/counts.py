"""Writes the numbers of shipped items and of verdicts into README.md, docs/hold.md and their row of docs/claims.md.

``python tools/counts.py`` follows every change of shipped results; a test compares the pages with the counts.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from fedradio.papers.published import items
from fedradio.report.terminal.shipped import opened, shipped_counts

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/hold.md")
ROWS = "docs/claims.md"
SENTENCE = re.compile(
    r"\d+ of \d+ tables, figures and studies were run with all their rows[^.]*\. Of \d+ claims,[^.]*\.".replace(
        " ", r"\s+"
    )
)
WIDTH = 120
"""Longest lines of the pages."""


def with_counts(page: str, sentence: str) -> str:
    """A page with this sentence in place of its own; the paragraph or entry of a list with it is filled anew."""
    blocks = re.split(r"(\n\n|\n(?=- ))", page)
    return "".join(
        _filled(SENTENCE.sub(lambda _: sentence, block)) if SENTENCE.search(block) else block for block in blocks
    )


def _filled(block: str) -> str:
    indent = "  " if block.startswith("- ") else ""
    whole = " ".join(block.split())
    return textwrap.fill(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def with_row(page: str, sentence: str) -> str:
    """The page of claims with this sentence, and the pattern of it, in the row that is about the counts."""
    claim = sentence.replace(". Of ", "; of ").removesuffix(".")
    expected = r"\s+".join(re.escape(word).replace(r"\,", ",") for word in sentence.removesuffix(".").split())
    row = re.compile(r"^\| README: \d+ of \d+ tables,[^|]*\|(.*\|) `[^`]*` \|$", re.MULTILINE)
    return row.sub(lambda found: f"| README: {claim} |{found[1]} `{expected}` |", page)


def main() -> None:
    sentence = shipped_counts(opened(items())).sentence()
    for name in PAGES:
        file = ROOT / name
        page = file.read_text(encoding="utf-8")
        file.write_text(with_counts(page, sentence), encoding="utf-8")
    rows = ROOT / ROWS
    rows.write_text(with_row(rows.read_text(encoding="utf-8"), sentence), encoding="utf-8")
    print(sentence)


if __name__ == "__main__":
    main()
