"""What a device looks at before it connects. How it answers: see ``test_trainer.py`` and ``test_serve.py``."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from support.federations import quiet

from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.core.files import locked
from fedradio.remote.flower.join import Credentials, check_address, join_federation
from fedradio.remote.flower.keys import make_keys


@pytest.mark.parametrize("address", ["", "host", "host:", ":9092", "host:port", "host:0", "host:70000", "host:9.5"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(SpecError, match="HOST:PORT"):
        check_address(address)
    assert check_address("[::1]:9092") == "[::1]:9092"


def test_what_is_wrong_is_told_before_it_connects(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", "localhost", 1)
    key, ca = tmp_path / "keys" / "node-0.key", tmp_path / "keys" / "ca.crt"
    with pytest.raises(SpecError, match="on one machine only"):
        join_federation("example.org:9092", 0, None, None, None, 0.0, quiet)
    with pytest.raises(DataError, match="No such file"):
        join_federation("127.0.0.1:1", 0, Credentials(tmp_path / "none", ca), None, None, 0.0, quiet)
    with pytest.raises(DataError, match="certificate not found"):
        join_federation("127.0.0.1:1", 0, Credentials(key, tmp_path / "none"), None, None, 0.0, quiet)
    with pytest.raises(DataError, match="not a certificate"):
        join_federation("127.0.0.1:1", 0, Credentials(key, key), None, None, 0.0, quiet)
    np.savez(tmp_path / "train.npz", x=np.full((2, 3), np.nan), y=np.array([0, 1]))
    with pytest.raises(DataError, match="nan"):
        join_federation("127.0.0.1:1", 0, Credentials(key, ca), tmp_path, None, 0.0, quiet)


def test_one_device_at_a_time_has_a_state(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StoreError, match="is in use"):
        join_federation("127.0.0.1:1", 0, None, None, tmp_path, 0.0, quiet)
