"""Secrets can be used and compared, and neither shown nor stored."""

import copy
import json
import pickle  # noqa: TID251  # to see that it is refused

import pytest

from fedradio.privacy.secret import KEY_OCTETS, Secret


def test_a_secret_is_used_and_not_shown() -> None:
    secret = Secret(b"very secret octets")
    assert secret.reveal() == b"very secret octets"
    assert f"{secret} {secret!r} {[secret]}" == "Secret(18 octets) Secret(18 octets) [Secret(18 octets)]"
    assert secret == Secret(b"very secret octets")
    assert secret != Secret(b"very secret octetz")
    assert secret != b"very secret octets"


def test_fresh_keys_differ() -> None:
    keys = [Secret.new() for _ in range(8)]
    assert len({key.reveal() for key in keys}) == 8
    assert {len(key) for key in keys} == {KEY_OCTETS}


@pytest.mark.parametrize("store", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, hash])
def test_a_secret_is_not_stored(store: object) -> None:
    with pytest.raises(TypeError):
        store(Secret(b"1234"))  # type: ignore[operator]
