"""A run to hand to trackers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.runs.run import run
from fedradio.spec.spec import Spec


@pytest.fixture
def made(tmp_path: Path, cells: Callable[..., Spec]) -> Path:
    """Three rounds with seconds, joules and bits; every second one and the last are evaluated."""
    run(cells("rounds=3", "eval_every=2"), tmp_path / "cells-run")
    return tmp_path / "cells-run"
