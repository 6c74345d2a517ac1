"""Scripts of the repository as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script such as ``benchmarks/against.py``, from its file; it finds those beside it."""
    file = ROOT / path
    monkeypatch.syspath_prepend(str(file.parent))
    found = importlib.util.spec_from_file_location(file.stem, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, file.stem, module)
    found.loader.exec_module(module)
    return module
