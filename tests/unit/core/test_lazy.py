"""Names that are imported when they are first asked for."""

import ast
import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fedradio
from fedradio.core import contracts

PACKAGE = """from typing import TYPE_CHECKING

from fedradio.core.lazy import lazy

if TYPE_CHECKING:
    from math import pi as pi, sqrt as root
    from lazily import inner as inner

__getattr__, __dir__, __all__ = lazy(__name__)
"""

PACKAGES = pytest.mark.parametrize("package", [fedradio, contracts], ids=["fedradio", "contracts"])


def test_names_aliases_and_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazily").mkdir()
    (tmp_path / "lazily" / "__init__.py").write_text(PACKAGE)
    (tmp_path / "lazily" / "inner.py").write_text("here = 3")
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("lazily")
    assert "lazily.inner" not in sys.modules
    assert dir(package) == package.__all__ == ["inner", "pi", "root"]
    assert package.pi == pytest.approx(3.14159, abs=1e-5)
    assert package.root(9.0) == 3.0
    assert package.inner.here == 3
    assert vars(package)["pi"] == package.pi  # from now on an attribute like any other
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'roots'") as caught:
        _ = package.roots
    assert (caught.value.name, caught.value.obj) == ("roots", package)  # with them, Python suggests the near name


@PACKAGES
def test_every_public_name_is_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None, name
    names: dict[str, object] = {}
    exec(f"from {package.__name__} import *", names)
    assert names.keys() - {"__builtins__"} == set(package.__all__) == set(dir(package))


@PACKAGES
def test_every_name_is_public_for_type_checkers(package: ModuleType) -> None:
    """They take a name for public if it is imported as itself."""
    block = next(node for node in ast.parse(inspect.getsource(package)).body if isinstance(node, ast.If))
    imported = [each for node in block.body if isinstance(node, ast.ImportFrom) for each in node.names]
    assert [each.name for each in imported] == [each.asname for each in imported]
    assert len(imported) == len(package.__all__)
