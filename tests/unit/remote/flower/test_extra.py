"""Flower as an extra: told where it is missing, and kept from calling home."""

import os
from importlib.util import find_spec
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.remote.flower import extra


def test_what_is_missing_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda _: None)
    for need in (extra.need_flower, extra.need_cryptography):
        with pytest.raises(SpecError, match=r"serve: needs .* pip install 'fedradio\[flower\]'"):
            need("serve")


@pytest.mark.skipif(find_spec("flwr") is None, reason="needs pip install 'fedradio[flower]'")
def test_it_neither_tells_nor_asks_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLWR_TELEMETRY_ENABLED", "FLWR_DISABLE_UPDATE_CHECK"):
        monkeypatch.delenv(name, raising=False)
    extra.need_flower("serve")
    assert os.environ["FLWR_TELEMETRY_ENABLED"] == "0"
    assert os.environ["FLWR_DISABLE_UPDATE_CHECK"] == "1"


@pytest.mark.skipif(find_spec("flwr") is None, reason="needs pip install 'fedradio[flower]'")
def test_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.supercore import version

    given: Any = "2.0.0"
    monkeypatch.setattr(version, "package_version", given)
    with pytest.raises(SpecError, match=r"Flower 2\.0\.0 is installed, but 1\.41 is needed"):
        extra.need_flower("join")


def test_a_finder_that_says_no_by_an_error_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def blocked(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extra, "find_spec", blocked)
    with pytest.raises(SpecError, match="needs Flower, which is not installed"):
        extra.need_flower("serve")
