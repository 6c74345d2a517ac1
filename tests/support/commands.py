"""Commands called in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from fedradio.cli import app, main

Call = Callable[..., Result]


def invoke(*words: object) -> Result:
    """What a command printed, its exit code, and the error that ``main`` would show."""
    return CliRunner().invoke(app, [str(word) for word in words])


def exit_code(*words: object) -> int:
    """The exit code of the whole program; what it prints goes where prints go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fedradio", *map(str, words)])
        patch.setattr(os, "_exit", sys.exit)
        with pytest.raises(SystemExit) as end:
            main()
    return int(end.value.code or 0)
