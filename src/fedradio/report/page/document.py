"""The HTML document around the sections: head, header, contents, footer, with all scripts and styles inside."""

from __future__ import annotations

import base64
import hashlib
import re
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
"""Script that runs before anything is drawn: sets the mode chosen last time, or the system's."""


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (resources.files("fedradio.report.page") / name).read_text(encoding="utf-8")


def document(title: str, header: Sequence[Piece], sections: Mapping[str, tuple[str, Html]], extra_css: str = "") -> str:
    """A whole page. ``sections`` are ``id -> (title for the contents, markup)``; ``extra_css`` is appended."""
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
        ],
        "\n",
    )
    start = f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n'
    plotly, own = (_element("script", script) for script in scripts[1:])
    return "".join((start, *plotly, "\n", *own, "\n</body>\n</html>\n"))  # at once: plotly.js is long


def _policy(scripts: Sequence[str]) -> str:
    """Content security policy: only these scripts run, and nothing is loaded from elsewhere."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _raw(name: str, content: str) -> Html:
    """A script or style element whose content is not escaped."""
    return Html("".join(_element(name, content)))


def _element(name: str, content: str) -> tuple[str, str, str]:
    """The pieces of an element whose content is not escaped."""
    if re.search(f"</{name}", content, re.IGNORECASE):
        raise ValueError(f"a {name} must not hold its own end")
    return f"<{name}>", content, f"</{name}>"


def _mode_button() -> Html:
    return tag("button", "Dark mode", type="button", id="mode", aria_pressed="false")


def _contents(sections: Mapping[str, tuple[str, Html]]) -> Html:
    links = [tag("li", tag("a", title, href=f"#{identity}")) for identity, (title, _) in sections.items()]
    return tag("nav", tag("ul", *links), aria_label="Contents", class_="contents")


def _footer() -> Html:
    text = (
        f"Made by fedradio {__version__}. This page is one file: it asks no other machine for anything. "
        "Charts: plotly.js, MIT licence (its text is in this file)."
    )
    script = tag("noscript", paragraph("Charts need JavaScript; their numbers are in the tables below each of them."))
    return tag("footer", script, paragraph(text))
