"""HTML elements as functions. Anything that is not :class:`Html` is escaped, so that no user text becomes markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

VOID = frozenset({"meta", "link", "input", "br"})
"""Elements without an end tag."""


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


Piece = str | None
"""What an element may contain: markup, plain text, or nothing."""

DASH = "\N{EN DASH}"
"""Shown for an absent value."""

UNDEFINED = Html(f'{DASH}<span class="unseen"> undefined</span>')
"""Shown for a quantity that no part defines."""


def text(value: Piece) -> Html:
    """Markup of a piece: plain text escaped, None as nothing."""
    if value is None:
        return Html("")
    return value if isinstance(value, Html) else Html(escape(value))


def join(pieces: Iterable[Piece], between: str = "") -> Html:
    """Pieces in a row."""
    return Html(escape(between).join(text(piece) for piece in pieces))


def tag(name: str, /, *children: Piece, **attributes: str | bool | None) -> Html:
    """An element: ``tag("a", "here", href="#x", class_="big", aria_label="go")``; None and False leave one out."""
    pieces = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            pieces.append(label)
        elif value is not None and value is not False:
            pieces.append(f'{label}="{escape(value)}"')
    opening = f"<{' '.join(pieces)}>"
    return Html(opening if name in VOID else f"{opening}{join(children)}</{name}>")


def data_block(identity: str, value: Any) -> Html:
    """A block of JSON for the page's script; ``<`` is escaped, so that no text in it can end the element."""
    content = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="{escape(identity)}">{content}</script>')


def table(
    caption: str, head: Sequence[Piece], rows: Iterable[Sequence[Piece]], *, numbers: bool = True, shown: bool = True
) -> Html:
    """A table that scrolls in its own box, with row headers in the first column. ``shown``: the caption is visible."""
    columns = join(tag("th", piece, scope="col") for piece in head)
    body = join(
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", piece) for piece in row[1:])) for row in map(list, rows)
    )
    title = tag("caption", caption if shown else tag("span", caption, class_="unseen"))
    inner = tag(
        "table", title, tag("thead", tag("tr", columns)), tag("tbody", body), class_="numbers" if numbers else None
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="group", aria_label=caption)


def folded(summary: str, *inside: Piece) -> Html:
    """Content that is collapsed until it is opened."""
    return tag("details", tag("summary", summary), *inside)


def paragraph(*pieces: Piece, class_: str | None = None) -> Html:
    return tag("p", *pieces, class_=class_)


def command(text: str) -> Html:
    """A command line with a copy button."""
    return tag(
        "div",
        tag("pre", tag("code", text), tabindex="0"),
        tag("button", "Copy", type="button", class_="copy", aria_label="Copy this command"),
        class_="command",
    )


def copied(button: str, content: str, name: str) -> Html:
    """A long text with a copy button."""
    return tag(
        "div",
        tag("button", button, type="button", class_="copy"),
        tag("pre", tag("code", content), tabindex="0", role="group", aria_label=name),
        class_="yaml",
    )


def section(identity: str, title: str, *inside: Piece) -> Html:
    """A section of the page with its heading."""
    heading = tag("h2", title, id=f"{identity}-heading")
    return tag("section", heading, *inside, id=identity, aria_labelledby=f"{identity}-heading")
