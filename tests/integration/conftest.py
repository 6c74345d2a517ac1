"""A small spec on disk, and workers that can be killed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.batches import spy, sweep_here

from fedradio.spec.spec import Spec


@pytest.fixture
def source(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny().plain))
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are made in this process; the list holds the names of the folders of those that were."""
    return sweep_here(monkeypatch)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> dict[str, subprocess.Popen[str]]:
    return spy(monkeypatch)
