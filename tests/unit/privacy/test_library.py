"""The library behind the protocol may be missing: then one sentence names the extra."""

import sys

import pytest

from fedradio.core.errors import SpecError
from fedradio.privacy.library import NEEDED, require_cryptography


def test_the_library_is_there() -> None:
    require_cryptography()


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NEEDED, None)
    with pytest.raises(SpecError, match=r"not installed -> pip install 'fedradio\[protocol\]'") as error:
        require_cryptography()
    assert error.value.exit_code == 2
    assert len(error.value.problems) == 1
