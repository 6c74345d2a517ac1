"""The HTML document around the sections: head, header, contents, footer, with all scripts and styles inlined."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import resources

from fedradio._version import __version__
from fedradio.report.page.html import Html, Piece, join, paragraph, tag
from fedradio.report.page.palette import variables

FIRST = """
let chosen = null;
try { chosen = localStorage.getItem("fedradio-theme"); } catch { /* not allowed here */ }
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
"""
"""Script that runs before anything is drawn: sets the mode chosen last time, or the system's."""

SERVED = ("plotly.js", "page.js", "live.js")
"""Scripts that a live page loads from its server."""


def asset(name: str, package: str = "fedradio.report.page") -> str:
    """The text of a file of this package, or of another one."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def document(
    title: str,
    header: Sequence[Piece],
    sections: Mapping[str, tuple[str, Html]],
    extra_css: str = "",
    live: Html | None = None,
) -> str:
    """A whole page. ``sections`` are ``id -> (title for the contents, markup)``; ``extra_css`` is appended.

    The page of a run in progress has a status line ``live``. It is served with separate scripts
    (:mod:`fedradio.report.live`); every other page is a single file.
    """
    scripts = [FIRST] if live is not None else [FIRST, plotly_script(), asset("page.js")]
    policy = content_policy(scripts, served=live is not None)
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
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
            tag("header", *header, _mode_button(), live, class_="top"),
            tag(
                "div",
                _contents(sections),
                tag("main", join((inner for _, inner in sections.values()), "\n"), id="content", tabindex="-1"),
                class_="columns",
            ),
            _footer(served=live is not None),
            Html(f"<!--\n{asset('plotly-licence.txt')}-->"),
        ],
        "\n",
    )
    colours = sorted(set(re.findall(r"@c([0-9a-f]{6})\b", body)))
    own = _raw("style", variables({f"c{colour}": f"#{colour}" for colour in colours}))
    start = f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n{own}\n</head>\n<body>\n{body}\n'
    if live is None:
        pieces = [piece for script in scripts[1:] for piece in (*_element("script", script), "\n")]
    else:
        pieces = [f"{tag('script', src=name)}\n" for name in SERVED]
    return "".join((start, *pieces, "</body>\n</html>\n"))  # at once: plotly.js is long


def plotly_script() -> str:
    """The text of plotly.js."""
    from plotly.offline import get_plotlyjs  # slow to import

    return str(get_plotlyjs())


def content_policy(scripts: Sequence[str], served: bool = False) -> str:
    """Content security policy: only these scripts run, and nothing is loaded from elsewhere.

    A ``served`` page may also load scripts from its own server and ask it for updates.
    """
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join([*(f"'sha256-{digest}'" for digest in digests), *(["'self'"] if served else [])])
    connect = "connect-src 'self'; " if served else ""
    return (
        f"default-src 'none'; script-src {allowed}; {connect}style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _raw(name: str, content: str) -> Html:
    """A script or style element whose content is not escaped."""
    return Html("".join(_element(name, content)))


def _element(name: str, content: str) -> tuple[str, str, str]:
    """The pieces of an element whose content is not escaped."""
    if re.search(f"</{name}", content, re.IGNORECASE):
        raise ValueError(f"a {name} must not contain its own end tag")
    return f"<{name}>", content, f"</{name}>"


def _mode_button() -> Html:
    return tag("button", "Dark mode", type="button", id="mode", aria_pressed="false")


def _contents(sections: Mapping[str, tuple[str, Html]]) -> Html:
    links = [tag("li", tag("a", title, href=f"#{identity}")) for identity, (title, _) in sections.items()]
    return tag("nav", tag("ul", *links), aria_label="Contents", class_="contents")


def _footer(served: bool) -> Html:
    where = "This page is served by this machine" if served else "This page is a single file"
    text = (
        f"Made by fedradio {__version__}. {where} and loads nothing from the network. "
        "Charts: plotly.js, MIT licence (its text is in this file)."
    )
    script = tag("noscript", paragraph("Charts need JavaScript; the numbers are in the table below each chart."))
    return tag("footer", script, paragraph(text))
