"""Text: names that are free, and texts from elsewhere, which may hold characters that steer a terminal."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters (C0, C1 and delete) but the newline; separators, marks, overrides and isolates of direction."""

UNDECODABLE = re.compile("[\ud800-\udfff]")
"""Bytes of a file name that are no text, as Python holds them; no stream can write them."""

LONGEST = 300
"""Characters of a path that are shown; few real ones are longer."""


def numbered_names(stem: str) -> Iterator[str]:
    """The stem, ``stem-2``, ``stem-3`` ...: names to try in turn where the first may be taken."""
    yield stem
    yield from (f"{stem}-{number}" for number in itertools.count(2))


def short_path(path: object, longest: int = LONGEST) -> str:
    """A path as text; the middle of a very long one is left out."""
    text = str(path)
    return text if len(text) <= longest else f"{text[: longest // 2]}...{text[-(longest // 2) + 3 :]}"


def harmless(text: str) -> str:
    """The text without what would steer a terminal; bytes that are no text become a replacement character."""
    return UNDECODABLE.sub("\ufffd", STEERING.sub("", text))
