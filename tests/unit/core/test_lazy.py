"""Names that are imported when they are first asked for."""

import sys
from types import ModuleType

import pytest

import fedradio
from fedradio.core import contracts
from fedradio.core.lazy import lazy


def test_names_aliases_and_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("lazily")
    monkeypatch.setitem(sys.modules, "lazily", package)
    get = lazy("lazily", {"pi": "math", "root": "math:sqrt", "numbers": "math:"})
    assert get("pi") == pytest.approx(3.14159, abs=1e-5)
    assert get("root")(9.0) == 3.0
    assert get("numbers").__name__ == "math"
    assert package.pi == get("pi")  # from now on an attribute like any other
    with pytest.raises(AttributeError, match=r"module 'lazily' has no attribute 'tau'"):
        get("tau")


@pytest.mark.parametrize("package", [fedradio, contracts], ids=["fedradio", "contracts"])
def test_every_public_name_is_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None, name
    assert len(set(package.__all__)) == len(package.__all__)
