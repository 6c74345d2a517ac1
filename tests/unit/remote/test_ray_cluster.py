"""Ray that is not installed, or not to be reached; and what it may not change in this process."""

import builtins
import signal
from dataclasses import asdict
from typing import Any

import pytest

from fedradio.core.errors import FedradioError, SpecError
from fedradio.remote import ray_cluster as module
from fedradio.remote.ray_cluster import cluster, looked_at, ray_module
from fedradio.remote.trainer import this_node


class Ray:
    """Ray whose start changes a signal's handler, and may fail."""

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.given, self.ended = fails, {}, False

    def is_initialized(self) -> bool:
        return False

    def init(self, **given: Any) -> None:
        self.given = given
        signal.signal(signal.SIGTERM, lambda *_: None)
        if self.fails:
            raise ConnectionError("no such cluster")

    def shutdown(self) -> None:
        self.ended = True


def test_without_the_package_there_is_a_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(SpecError, match=r"pip install 'fedradio\[ray\]'"):
        ray_module()


@pytest.mark.parametrize("address", [None, "head:6379"])
def test_a_cluster_by_address_or_a_ray_of_this_machine(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, before = Ray(), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(module, "ray_module", lambda: fake)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with cluster(5):
        assert signal.getsignal(signal.SIGTERM) is before
        assert fake.given["address"] == (address or "local")
        assert fake.given.get("num_cpus") == (5 if address is None else None)
    assert fake.ended


def test_a_cluster_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ray_module", lambda: Ray(fails=True))
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    told = r"the Ray cluster at head:6379 cannot be used: no such cluster; .* export RAY_AUTH_MODE=token"
    with pytest.raises(FedradioError, match=told), cluster():
        pass
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(FedradioError, match=r"no such cluster$"), cluster():
        pass


def test_a_machine_says_what_it_has() -> None:
    assert looked_at(asdict(this_node())) == ("", "")
    assert "torch" in looked_at(asdict(this_node()) | {"torch": "0.1"})[0]
