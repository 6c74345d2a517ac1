"""Drawing styles of algorithms, the same in every figure and page: colour, dash and marker."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from fedradio.results.variants import Variant

Dash = tuple[float, ...]
"""Lengths on and off, in points; empty for a solid line."""

SOLID, LONG, SHORT, DOT, DASH_DOT, DASH_DOT_DOT = DASHES = (
    (),
    (7.0, 2.0),
    (4.0, 1.5),
    (1.2, 1.5),
    (6.0, 1.8, 1.2, 1.8),
    (6.0, 1.8, 1.2, 1.8, 1.2, 1.8),
)

MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
    "<": "triangle-left",
    ">": "triangle-right",
    "p": "pentagon",
    "h": "hexagon",
    "*": "star",
    "d": "diamond-tall",
    "8": "octagon",
    "H": "hexagon2",
    "+": "cross-thin-open",
    "x": "x-thin-open",
    "1": "y-down-open",
    "2": "y-up-open",
}
"""matplotlib's letter of every marker, and plotly's name of it."""


@dataclass(frozen=True)
class Style:
    """How a line is drawn: ``colour`` as ``#RRGGBB``, dash, and ``marker`` as matplotlib's letter."""

    colour: str
    dash: Dash
    marker: str


def plotly_dash(dash: Dash, width_px: float) -> str:
    """plotly's text of a dash, whose lengths grow with the width of the line, as in matplotlib."""
    return ",".join(f"{length * width_px:g}px" for length in dash) or "solid"


STYLES = {
    "fedavg": Style("#0072B2", SOLID, "o"),
    "fedprox": Style("#E69F00", LONG, "s"),
    "fednova": Style("#009E73", SHORT, "^"),
    "scaffold": Style("#D55E00", DASH_DOT, "D"),
    "osafl": Style("#CC79A7", SOLID, "v"),
    "fedcpsl": Style("#56B4E9", SOLID, "P"),
    "central": Style("#606060", DOT, "X"),
    "apfl": Style("#993300", LONG, "<"),
    "apfl_tuned": Style("#BB2299", SHORT, ">"),
    "apsfl": Style("#AA77FF", DASH_DOT, "p"),
    "fedshvr": Style("#4444CC", DASH_DOT_DOT, "h"),
    "feddisco": Style("#88AA66", DASH_DOT_DOT, "*"),
    "afa_cd": Style("#BBAA99", LONG, "d"),
    "fedavgm": Style("#006633", DASH_DOT, "8"),
    "fedadam": Style("#9966DD", SHORT, "H"),
    "fedyogi": Style("#EE7733", DOT, "+"),
    "fedadagrad": Style("#FF77CC", DASH_DOT_DOT, "x"),
    "feddyn": Style("#777777", LONG, "1"),
}
"""The first six colours are Okabe and Ito's. The others were chosen to be far from them and from each other, also for
people with protanopia, deuteranopia or tritanopia; similar ones differ in dash and marker too."""

SPARE = ("#AA00FF", "#8A7A00", "#776655")
"""Colours of algorithms that are not in :data:`STYLES`, such as plug-ins."""

SHADES = (0.0, 0.4, 0.2, 0.3)
"""How far the variants of one algorithm are mixed towards black (light colours) or white (dark colours)."""

LOOKS = lcm(len(DASHES), len(MARKERS), len(SHADES))
"""How many different styles the variants of an algorithm can have."""

LIGHT = 0.25
"""Relative luminance above which a colour is varied by darkening, below by lightening."""


def style(algorithm: str) -> Style:
    """The style of an algorithm; an unknown one gets a style by a hash of its name."""
    known = STYLES.get(algorithm)
    if known is not None:
        return known
    number, spare = divmod(zlib.crc32(algorithm.encode()), len(SPARE))
    number, dash = divmod(number, len(DASHES))
    return Style(SPARE[spare], DASHES[dash], list(MARKERS)[number % len(MARKERS)])


def styles(variants: Sequence[Variant]) -> list[Style]:
    """A style for each variant: its algorithm's own, and for further variants other dashes, markers and shades.

    No two are equal, up to :data:`LOOKS` variants of an algorithm.
    """
    chosen: list[Style] = []
    taken: set[Style] = set()
    untried: dict[str, Iterator[Style]] = {}
    for variant in variants:
        looks = untried.setdefault(variant.algorithm, _looks(style(variant.algorithm)))
        look = next((look for look in looks if look not in taken), style(variant.algorithm))
        taken.add(look)
        chosen.append(look)
    return chosen


def _looks(base: Style) -> Iterator[Style]:
    """A style and its variations, each once."""
    return (_varied(base, number) for number in range(LOOKS))


def luminance(colour: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 (black) to 1 (white), as in WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _varied(base: Style, number: int) -> Style:
    """The ``number``-th variation of a style; 0 is the style itself."""
    if number == 0:
        return base
    dash = DASHES[(DASHES.index(base.dash) + number) % len(DASHES)]
    marker = list(MARKERS)[(list(MARKERS).index(base.marker) + number) % len(MARKERS)]
    return replace(base, colour=_shaded(base.colour, SHADES[number % len(SHADES)]), dash=dash, marker=marker)


def _shaded(colour: str, amount: float) -> str:
    """A colour mixed with black or white, whichever is farther away."""
    end = 0.0 if luminance(colour) > LIGHT else 1.0
    return "#" + "".join(f"{round(255 * (c + amount * (end - c))):02X}" for c in _channels(colour))


def _channels(colour: str) -> list[float]:
    """Red, green and blue of ``#RRGGBB``, 0 to 1."""
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
