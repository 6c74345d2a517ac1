"""What tests ask of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

BAD = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


class Outline(HTMLParser):
    """Collects what a test asks of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def values(self, attribute: str) -> Iterator[str]:
        return (found[attribute] or "" for _, found in self.tags if attribute in found)

    def names(self, name: str) -> list[dict[str, str | None]]:
        return [found for tag_name, found in self.tags if tag_name == name]


def words_of(text: str) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)[ >].*?</\1>", "", text, flags=re.S)
