"""Colours of algorithms on the page: as everywhere, but never too near to the background of either mode."""

from __future__ import annotations

from collections.abc import Mapping

from fedradio.report.style import luminance

BACKGROUNDS = {"light": ("#ffffff", 3.2), "dark": ("#1a1e25", 4.5)}
"""What charts stand on, as in page.css, and the contrast of lines and markers with it; WCAG 2 asks for 3."""


def contrast(one: str, other: str) -> float:
    """Of two colours ``#RRGGBB``, 1 (equal) to 21 (black on white), as in WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def visible(colour: str, background: str, least: float) -> str:
    """The colour, mixed with black or white as far as it takes to stand out."""
    end = 0 if luminance(background) > 0.5 else 255
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    for share in range(20):
        mixed = "#" + "".join(f"{round(part + (end - part) * share / 20):02x}" for part in parts)
        if contrast(mixed, background) >= least:
            return mixed
    return "#000000" if end == 0 else "#ffffff"


def variables(colours: Mapping[str, str]) -> str:
    """Style rules that give names to colours, ``name -> #RRGGBB``, in both modes."""
    rules = []
    for mode, (background, least) in BACKGROUNDS.items():
        words = " ".join(f"--{name}: {visible(colour, background, least)};" for name, colour in colours.items())
        rules.append(f':root[data-theme="{mode}"] {{ {words} }}')
    return "\n" + "\n".join(rules) + "\n"
