"""The one way to the terminal: a console that shows names, paths and messages as they are and obeys nothing in them.

Whatever is printed may come from a file that somebody else has written. Text is never read as markup, and characters
that would steer the terminal are left out of everything that is rendered: lines, tables, progress bars.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import TextColumn
from rich.segment import Segment
from rich.text import Text

from fedradio.core.text import harmless


class SafeConsole(Console):
    """A console that reads no markup and lets no control character through but the newline and its own colours."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed, harmless; those that move the cursor are rich's own."""
        return _harmless(super().render(renderable, options))

    def on_broken_pipe(self) -> None:
        """Print nothing more where nobody reads any longer, as behind ``| head``; whatever is being made goes on."""
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
    """Print texts, or texts with a style, in lines as long as they are."""
    console.print(Text.assemble(*pieces), soft_wrap=True)


def text_column(template: str) -> TextColumn:
    """A column of a progress bar that shows ``template``, such as ``{task.description}``, and reads no markup."""
    return TextColumn(template, markup=False)
