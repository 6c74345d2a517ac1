"""Long texts are folded, so that a page stays short enough to scroll through."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 25
"""Files with more lines than this are folded where a page includes them."""

INCLUDED = re.compile(r'^```(\w+) title="([^"\n]+)"\n--8<--\n(\S+)\n--8<--\n```$', re.MULTILINE)
"""A block of code with a title that is a file of the repository, or a named section of one."""

SECTION = re.compile(r"^### (.+)\n((?:(?!^##).*\n?)*)", re.MULTILINE)
"""A section of the third level, up to the next heading."""


def folded(title: str, text: str) -> str:
    """A collapsed block of text under its title."""
    inside = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return f'??? note "{title}"\n\n{inside}'


def fold_files(markdown: str) -> str:
    """A page on which included files that are long, and sections of files, are folded below their names."""
    return INCLUDED.sub(lambda found: folded(found[2], found[0]) if _is_long(found[3]) else found[0], markdown)


def _is_long(path: str) -> bool:
    name, _, section = path.partition(":")
    return bool(section) or len((ROOT / name).read_text(encoding="utf-8").splitlines()) > LONGEST


def fold_sections(markdown: str) -> str:
    """A text whose sections of the third level are folded below their titles, with the number of their entries."""
    return SECTION.sub(lambda found: folded(f"{found[1]} ({_entries(found[2])})", found[2].strip()) + "\n\n", markdown)


def _entries(text: str) -> int:
    return len(re.findall(r"^- ", text, re.MULTILINE))
