"""Equations in LaTeX become MathML when the pages are built, so that a page needs neither a script nor a network.

``\\(...\\)`` stands inside a line, ``\\[...\\]`` on a line of its own. Code is left as it is.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\\\((.+?)\\\)")
DISPLAY = re.compile(r"^\\\[(.+?)\\\]$", re.MULTILINE | re.DOTALL)


def typeset(markdown: str) -> str:
    """A page with its equations as MathML."""
    pieces = CODE.split(markdown)
    pieces[::2] = map(_equations, pieces[::2])
    return "".join(pieces)


def _equations(text: str) -> str:
    text = DISPLAY.sub(lambda found: f'<div class="equation">{_mathml(found[1], "block")}</div>', text)
    return INLINE.sub(lambda found: f"<span>{_mathml(found[1], 'inline')}</span>", text)


def _mathml(latex: str, display: str) -> str:
    """The element, in one line: the underscore and the star of Markdown are written as numbers."""
    return convert(latex.strip(), display=display).replace("_", "&#95;").replace("*", "&#42;")
