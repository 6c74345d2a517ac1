"""Colours of algorithms on the page, adjusted to stand out from the background in both modes."""

from __future__ import annotations

from collections.abc import Mapping

from fedradio.report.style import luminance

BACKGROUNDS = {"light": ("#ffffff", 3.2), "dark": ("#1a1e25", 4.5)}
"""Backgrounds of charts, as in page.css, and the minimum contrast of lines against them; WCAG 2 requires 3."""


def contrast(first: str, second: str) -> float:
    """The contrast of two colours ``#RRGGBB``, 1 (equal) to 21 (black on white), as in WCAG 2."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def visible(colour: str, background: str, least: float) -> str:
    """The colour, mixed with enough black or white to reach the contrast."""
    end = 0 if luminance(background) > 0.5 else 255
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    for share in range(20):
        mixed = "#" + "".join(f"{round(part + (end - part) * share / 20):02x}" for part in parts)
        if contrast(mixed, background) >= least:
            return mixed
    return "#000000" if end == 0 else "#ffffff"


def variables(colours: Mapping[str, str]) -> str:
    """CSS variables of colours, ``name -> #RRGGBB``, for both modes."""
    rules = []
    for mode, (background, least) in BACKGROUNDS.items():
        declarations = " ".join(f"--{name}: {visible(colour, background, least)};" for name, colour in colours.items())
        rules.append(f':root[data-theme="{mode}"] {{ {declarations} }}')
    return "\n" + "\n".join(rules) + "\n"
