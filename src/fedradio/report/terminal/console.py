"""Safe terminal output: a console that prints names, paths and messages literally and never interprets them.

Printed text may come from files written by somebody else. It is never read as markup, and control characters are
removed from everything that is rendered: lines, tables, progress bars.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.progress import TextColumn
from rich.segment import Segment
from rich.text import Text

from fedradio.core.text import harmless

PIPED_COLUMNS = 160
"""Width of the output when it does not go to a terminal."""


class SafeConsole(Console):
    """A console that interprets no markup and removes all control characters except newlines and its own colours."""

    def __init__(self, *, width: int | None = None, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, width=width, **options)
        self._fixed_width = width

    @property  # type: ignore[misc]  # nothing sets the size
    def size(self) -> ConsoleDimensions:
        """Width and height in characters, read whenever something is printed: as given; else ``COLUMNS``; else the
        terminal's, or ``PIPED_COLUMNS`` if the output goes elsewhere."""
        width, height = super().size
        columns = os.environ.get("COLUMNS", "")
        if self._fixed_width is not None:
            width = self._fixed_width
        elif columns.isdigit():
            width = int(columns)
        elif not self.file.isatty():
            width = PIPED_COLUMNS
        return ConsoleDimensions(width, height)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed, without control characters except those of rich itself."""
        return _harmless(super().render(renderable, options))

    def on_broken_pipe(self) -> None:
        """Stop printing when the reader has closed the pipe, as with ``| head``; the command itself continues."""
        self.quiet = True
        unread = sys.stderr if self.stderr else sys.stdout
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, unread.fileno())
        os.close(nowhere)


def _harmless(segments: Iterable[Segment]) -> Iterator[Segment]:
    for segment in segments:
        if segment.control is None:
            yield Segment(harmless(segment.text), segment.style)
        else:
            yield segment


def say(console: SafeConsole, *pieces: str | tuple[str, str]) -> None:
    """Print plain or styled texts on one line, without wrapping."""
    console.print(Text.assemble(*pieces), soft_wrap=True)


def text_column(template: str) -> TextColumn:
    """A column of a progress bar that shows ``template``, such as ``{task.description}``, without markup."""
    return TextColumn(template, markup=False)
