"""Commands called in this process."""

from __future__ import annotations

from collections.abc import Callable

from typer.testing import CliRunner, Result

from fedradio.cli import app

Call = Callable[..., Result]


def invoke(*words: object) -> Result:
    """What a command printed, its exit code, and the error that ``main`` would show."""
    return CliRunner().invoke(app, [str(word) for word in words])
