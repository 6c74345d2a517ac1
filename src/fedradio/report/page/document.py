"""The document: head, header, contents, footer; everything that the page needs is inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from fedradio._version import __version__
from fedradio.report.page.html import Html, Piece, join, paragraph, tag

FIRST = """
let chosen = null;
try { chosen = localStorage.getItem("fedradio-theme"); } catch { /* not allowed here */ }
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
"""
"""Before anything is drawn: the mode that was chosen the last time, or that of the system."""


def asset(name: str) -> str:
    """A text file of this package."""
    return (resources.files("fedradio.report.page") / name).read_text(encoding="utf-8")


def document(title: str, header: Sequence[Piece], sections: Mapping[str, tuple[str, Html]], extra_css: str = "") -> str:
    """A whole page. ``sections`` are ``id -> (words for the contents, markup)``; ``extra_css`` is the caller's own."""
    from plotly.offline import get_plotlyjs  # slow to import

    scripts = [FIRST, get_plotlyjs(), asset("page.js")]
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="generator", content=f"fedradio {__version__}"),
            tag("title", title),
            tag("link", rel="icon", href="data:,"),
            _raw("style", asset("page.css") + extra_css),
            _raw("script", FIRST),
        ],
        "\n",
    )
    body = join(
        [
            tag("a", "Skip to the content", href="#content", class_="skip"),
            tag("header", *header, _mode_button(), class_="top"),
            tag(
                "div",
                _contents(sections),
                tag("main", join((inner for _, inner in sections.values()), "\n"), id="content", tabindex="-1"),
                class_="columns",
            ),
            _footer(),
            Html(f"<!--\n{asset('plotly-licence.txt')}-->"),
            _raw("script", scripts[1]),
            _raw("script", scripts[2]),
        ],
        "\n",
    )
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _policy(scripts: Sequence[str]) -> str:
    """Only these scripts run, and nothing is loaded from anywhere."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _raw(name: str, words: str) -> Html:
    """Our own script or style as it is."""
    if f"</{name}" in words.lower():
        raise ValueError(f"a {name} must not hold its own end")
    return Html(f"<{name}>{words}</{name}>")


def _mode_button() -> Html:
    return tag("button", "Dark mode", type="button", id="mode", aria_pressed="false")


def _contents(sections: Mapping[str, tuple[str, Html]]) -> Html:
    links = [tag("li", tag("a", words, href=f"#{identity}")) for identity, (words, _) in sections.items()]
    return tag("nav", tag("ul", *links), aria_label="Contents", class_="contents")


def _footer() -> Html:
    words = (
        f"Made by fedradio {__version__}. This page is one file: it asks no other machine for anything. "
        "Charts: plotly.js, MIT licence (its text is in this file)."
    )
    script = tag("noscript", paragraph("Charts need JavaScript; their numbers are in the tables below each of them."))
    return tag("footer", script, paragraph(words))
