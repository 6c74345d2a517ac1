"""A run with known numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.past import two_rounds

from fedradio.results.run import Run
from fedradio.spec.spec import Spec


@pytest.fixture
def small(tmp_path: Path, tiny: Callable[..., Spec]) -> Run:
    """Two clients and two rounds of three, written by hand: see :func:`support.past.two_rounds`."""
    return two_rounds(tmp_path / "small", tiny("topology.clients=2", "rounds=3"))
