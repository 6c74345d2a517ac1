"""``fedradio.gym.make``."""

import sys

import pytest

import fedradio
from fedradio.core.errors import SpecError


def test_where_gymnasium_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("fedradio.gym.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(SpecError, match=r"fedradio\[gym\]"):
        fedradio.gym.make("demo")


def test_overrides_are_those_of_specs() -> None:
    with pytest.raises(SpecError, match="rule"):
        fedradio.gym.make("demo", ["rule.lr=wrong"])
