"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import invoke

from fedradio.core.errors import SpecError


@pytest.mark.parametrize("command", ["plan demo", "diagnose no-run"])
@pytest.mark.parametrize("name", ["map.gif", "map", "nowhere/map.pdf"])
def test_a_figure_that_cannot_be_drawn_is_refused_at_once(command: str, name: str, tmp_path: Path) -> None:
    done = invoke(*command.split(), "--figure", tmp_path / name)
    assert isinstance(done.exception, SpecError)
    assert [(problem.path, problem.value) for problem in done.exception.problems] == [
        ("--figure", str(tmp_path / name))
    ]
