"""Payloads: chunks by hand, and everything that is not exactly what was encrypted."""

import pytest

from fedradio.privacy.payload import CHUNK, decrypt, encrypt, payload_size
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret

KEY, NONCE = Secret(bytes(32)), b"n" * 16
WHOLE = CHUNK + 16


@pytest.mark.parametrize(("octets", "chunks"), [(0, 1), (1, 1), (CHUNK, 1), (CHUNK + 1, 2), (3 * CHUNK, 3)])
def test_chunks_by_hand(octets: int, chunks: int) -> None:
    data = bytes(range(256)) * (octets // 256 + 1)
    payload = encrypt(data[:octets], KEY, NONCE)
    assert len(payload) == octets + 16 * chunks == payload_size(octets)
    assert decrypt(payload, KEY, NONCE, "UE") == data[:octets]


def test_what_is_not_the_payload_is_refused() -> None:
    data = bytes(2 * CHUNK + 5)
    payload = encrypt(data, KEY, NONCE)
    first, second, last = payload[:WHOLE], payload[WHOLE : 2 * WHOLE], payload[2 * WHOLE :]
    wrong = {
        "swapped": second + first + last,
        "dropped at the end": first + second,
        "dropped in the middle": first + last,
        "twice": first + first + second + last,
        "added": payload + encrypt(b"more", KEY, NONCE),
        "altered": first + second + last[:-1] + bytes([last[-1] ^ 1]),
        "a piece of a chunk": first + second + last[:7],
        "one octet": b"a",
    }
    for name, octets in wrong.items():
        with pytest.raises(Refused) as error:
            decrypt(octets, KEY, NONCE, "UE")
        assert error.value.refusal is Refusal.ALTERED_PAYLOAD, name
    for key, nonce in ((Secret(b"1" * 32), NONCE), (KEY, b"m" * 16)):
        with pytest.raises(Refused):
            decrypt(payload, key, nonce, "UE")


def test_no_chunks_are_no_empty_file() -> None:
    assert decrypt(encrypt(b"", KEY, NONCE), KEY, NONCE, "UE") == b""
    with pytest.raises(Refused) as error:
        decrypt(b"", KEY, NONCE, "UE")
    assert (error.value.party, error.value.refusal) == ("UE", Refusal.EMPTY_PAYLOAD)
