"""What a terminal shows."""

from __future__ import annotations

import io

from fedradio.report.terminal.console import SafeConsole


def shown(*things: object, width: int = 120) -> str:
    """The text of some renderables on a terminal of that width, without colours."""
    console = SafeConsole(file=io.StringIO(), width=width)
    console.print(*things)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text
