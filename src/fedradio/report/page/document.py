"""The HTML document around the sections: head, header, contents, footer, with all scripts and styles inlined."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from fedradio._version import __version__
from fedradio.report.page.html import Html, Piece, join, paragraph, tag
from fedradio.report.page.palette import variables
from fedradio.results.folder_state import FolderState

FIRST = """
let chosen = null;
try { chosen = localStorage.getItem("fedradio-theme"); } catch { /* not allowed here */ }
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
"""
"""Script that runs before anything is drawn: sets the mode chosen last time, or the system's."""


@dataclass(frozen=True)
class Refresh:
    """The reloads of a page in progress: seconds between them, and the state of the run or sweep that it shows."""

    seconds: int
    now: FolderState


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (resources.files("fedradio.report.page") / name).read_text(encoding="utf-8")


def document(
    title: str,
    header: Sequence[Piece],
    sections: Mapping[str, tuple[str, Html]],
    extra_css: str = "",
    refresh: Refresh | None = None,
) -> str:
    """A whole page. ``sections`` are ``id -> (title for the contents, markup)``; ``extra_css`` is appended.

    With ``refresh`` the page reloads itself, and a line at its top says whether the run or sweep is in progress.
    """
    scripts = [FIRST, plotly_script(), asset("page.js")]
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=content_policy(scripts)),
            *([] if refresh is None else [tag("meta", http_equiv="refresh", content=str(refresh.seconds))]),
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
            tag("header", *header, _mode_button(), None if refresh is None else _state_line(refresh), class_="top"),
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
    colours = sorted(set(re.findall(r"@c([0-9a-f]{6})\b", body)))
    own = _raw("style", variables({f"c{colour}": f"#{colour}" for colour in colours}))
    start = f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n{own}\n</head>\n<body>\n{body}\n'
    pieces = [piece for script in scripts[1:] for piece in (*_element("script", script), "\n")]
    return "".join((start, *pieces, "</body>\n</html>\n"))  # at once: plotly.js is long


def plotly_script() -> str:
    """The text of plotly.js."""
    from plotly.offline import get_plotlyjs  # slow to import

    return str(get_plotlyjs())


def content_policy(scripts: Sequence[str]) -> str:
    """Content security policy: only these scripts run, and nothing is loaded from elsewhere."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
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


def _state_line(refresh: Refresh) -> Html:
    every = "every second" if refresh.seconds == 1 else f"every {refresh.seconds} s"
    words = f"{refresh.now.sentence} This page reloads {every}."
    return tag("p", words, class_="state", data_state=refresh.now.state)


def _footer() -> Html:
    text = (
        f"Made by fedradio {__version__}. This page is a single file and loads nothing from the network. "
        "Charts: plotly.js, MIT licence (its text is in this file)."
    )
    script = tag("noscript", paragraph("Charts need JavaScript; the numbers are in the table below each chart."))
    return tag("footer", script, paragraph(text))
