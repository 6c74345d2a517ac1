"""The design of figures: size, fonts, style file, axis limits, and names of variants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import style as styles
from matplotlib.font_manager import FontProperties, findfont, get_font_names

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.text import harmless
from fedradio.results.figure_options import Limits

COLUMN_IN = 3.5
"""Width of a column of a two-column paper, in inches."""

INCHES = {"in": 1.0, "": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Units of sizes; points are TeX points, as printed by ``\\the\\columnwidth``."""

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:[x*]\s*(\d+(?:\.\d+)?))?\s*(in|cm|mm|pt|)\s*")

LEAST_IN, MOST_IN = 1.0, 40.0
"""Sizes that can be drawn."""

GENERIC = ("serif", "sans-serif", "monospace", "cursive", "fantasy")
"""Generic families, for which matplotlib uses the first installed font."""

SIZES: dict[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
}
"""Sizes of fonts and frames, in points, for figures printed at their original size."""


@dataclass(frozen=True)
class Design:
    """How figures look, where this differs from the default.

    ``height_in``: height of the whole figure including the legend; None chooses it automatically. ``settings``:
    matplotlib settings that override :data:`SIZES`. Limits are in the units of the records. ``names``: legend names by
    label; formulas between dollar signs are typeset.
    """

    width_in: float = COLUMN_IN
    height_in: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    x_limits: Limits = (None, None)
    y_limits: Limits = (None, None)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def rc(self) -> dict[Any, Any]:
        """All settings of matplotlib."""
        return SIZES | dict(self.settings)

    @property
    def letters(self) -> int:
        """How many characters of a legend fit the width."""
        return max(12, round(62 * self.width_in / COLUMN_IN * 7 / self.legend_pt))

    @property
    def legend_pt(self) -> float:
        """Font size of the legend, in points."""
        return float(FontProperties(size=self.rc["legend.fontsize"]).get_size_in_points())

    def height(self, usual_in: float) -> float:
        """The height of a figure whose usual height, without the legend, is given."""
        return usual_in * self.width_in / COLUMN_IN if self.height_in is None else self.height_in


COLUMN = Design()
"""One column of a paper."""


def design(
    size: str | tuple[float, float | None] | None = None,
    font: str | None = None,
    font_size: float | None = None,
    style: str | Path | None = None,
) -> Design:
    """A design; all problems are reported together.

    ``size``: width and height in inches, or a text such as ``3.5x2.3``, ``8.8x6cm``, ``252pt``. ``font``: an installed
    font family. ``font_size``: size of the axis titles, in points; ticks and legend are one point smaller. ``style``: a
    matplotlib style file, or the name of a built-in style; the other arguments override it.
    """
    problems: list[Problem] = []
    settings = {} if style is None else _style(style, problems)
    own = settings.get("figure.figsize")
    width, height = (own or (COLUMN_IN, None)) if size is None else _size(size, problems)
    if font is not None:
        settings["font.family"] = _font(font, problems)
    if font_size is not None:
        settings |= _font_sizes(font_size, problems)
    if problems:
        raise SpecError(problems)
    return Design(float(width), height, _named_fonts(settings))


def _size(given: str | tuple[float, float | None], problems: list[Problem]) -> tuple[float, float | None]:
    """Width and height in inches."""
    remedy = "such as 3.5x2.3 (inches), 8.8x6cm, 88mm or 252pt; the height can be omitted"
    if isinstance(given, str):
        found = SIZE.fullmatch(given.lower())
        if found is None:
            problems.append(Problem("--size", "not a size", remedy, given))
            return COLUMN_IN, None
        inch = INCHES[found[3]]
        width, height = float(found[1]) * inch, None if found[2] is None else float(found[2]) * inch
    else:
        width, height = given
    if not all(LEAST_IN <= side <= MOST_IN for side in (width, LEAST_IN if height is None else height)):
        problems.append(
            Problem("--size", f"figures must measure between {LEAST_IN:g} and {MOST_IN:g} inches", remedy, given)
        )
    return width, height


def _font(family: str, problems: list[Problem]) -> str:
    """An installed font family."""
    if family not in GENERIC:
        try:
            findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            known = [*get_font_names(), *GENERIC]
            near = suggest(family, known) or f"one of: {', '.join(sorted(set(known)))}"
            problems.append(Problem("--font", "this font is not installed", near, family))
    return family


def _font_sizes(points: float, problems: list[Problem]) -> dict[str, Any]:
    """Sizes of all fonts."""
    if not 3 <= points <= 72:
        problems.append(Problem("--font-size", "font sizes must be between 3 and 72 points", "such as 8", points))
    smaller = dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), points - 1)
    return {"font.size": points, "axes.labelsize": points} | smaller


def _named_fonts(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with a style's generic family replaced by its actual fonts, so that figures keep them."""
    families = settings.get("font.family", [])
    families = [families] if isinstance(families, str) else families
    if "serif" in families:
        settings.setdefault("mathtext.fontset", "dejavuserif")
    named = [font for family in families for font in settings.get(f"font.{family}", [family])]
    return settings | {"font.family": named} if named else settings


def _style(given: str | Path, problems: list[Problem]) -> dict[str, Any]:
    """The settings of a style file or of a built-in matplotlib style."""
    path = Path(given)
    if not path.exists() and str(given) in styles.library:
        return {str(key): value for key, value in styles.library[str(given)].items()}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            "is not a text file" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        )
        near = suggest(str(given), styles.available) or "a file of lines such as `lines.linewidth: 1`"
        problems.append(Problem("--style", f"cannot be read: {reason}", near, str(given)))
        return {}
    return _settings(text, path, problems)


def _settings(text: str, path: Path, problems: list[Problem]) -> dict[str, Any]:
    """The settings in a style file, one ``key: value`` per line."""
    checked: Any = matplotlib.RcParams()
    for number, line in enumerate(text.splitlines(), 1):
        content = re.sub(r'("[^"]*")|#.*', lambda found: found[1] or "", line).strip()
        key, colon, value = (piece.strip() for piece in content.partition(":"))
        if not content:
            continue
        where = f"{harmless(str(path))}, line {number}"
        if not colon:
            problems.append(Problem(where, "not a setting", "key: value", content))
        elif key not in matplotlib.rcParams:
            near = suggest(key, list(matplotlib.rcParams)) or "see matplotlib's list of rcParams"
            problems.append(Problem(where, "matplotlib has no such setting", near, key))
        else:
            try:
                checked[key] = value.strip('"')
            except ValueError as error:
                problems.append(Problem(where, f"not a value of {key}: {error}", "", value))
    if checked.get("text.usetex"):
        remedy = "use mathtext.fontset: cm to draw formulas in LaTeX's font"
        problems.append(
            Problem(f"{harmless(str(path))}", "text.usetex is not supported: labels are not written for LaTeX", remedy)
        )
    return dict(checked)
