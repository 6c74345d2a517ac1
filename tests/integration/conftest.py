"""Parts of a package of one's own, for whole runs."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from fedradio.core import registry
from fedradio.core.registry import parts

PACKAGE = Path(__file__).parents[2] / "examples" / "own_package"


@pytest.fixture
def my_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of the package, imported by a script and announced nowhere; forgotten afterwards."""
    parts()
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    monkeypatch.syspath_prepend(str(PACKAGE))
    yield importlib.import_module("my_parts")
    del sys.modules["my_parts"]
