"""Sealed texts and boxes: lengths, and what does not open."""

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke

from fedradio.core.errors import SpecError
from fedradio.privacy.sealing import box, suite_of, unbox
from fedradio.privacy.secret import Secret


@pytest.mark.parametrize(("name", "octets"), [("x25519", 116), ("hybrid", 1204)])
def test_a_sealed_request_has_its_length_and_opens(name: str, octets: int) -> None:
    suite = suite_of(name)
    key, text = suite.new_key(), bytes(range(68))
    sealed = suite.seal(text, key.public_key(), b"request")
    assert len(sealed) == octets
    assert suite.open(sealed, key, b"request") == text
    assert suite.seal(text, key.public_key(), b"request") != sealed
    for other in (sealed[:-1], sealed[:20], b"", sealed[:-1] + bytes([sealed[-1] ^ 1])):
        with pytest.raises(InvalidTag):
            suite.open(other, key, b"request")
    with pytest.raises(InvalidTag):
        suite.open(sealed, key, b"another use")
    with pytest.raises(InvalidTag):
        suite.open(sealed, suite.new_key(), b"request")


def test_unknown_suites_and_an_older_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="use x25519 or hybrid"):
        suite_of("rot13")

    class Older:
        X25519 = hpke.KEM.X25519

    monkeypatch.setattr(hpke, "KEM", Older)
    assert suite_of("x25519").name == "x25519"
    with pytest.raises(SpecError, match="not supported by this version"):
        suite_of("hybrid")


def test_a_box_is_28_octets_longer_and_bound() -> None:
    key = Secret.new()
    boxed = box(b"content", key, b"ticket")
    assert len(boxed) == 7 + 28
    assert unbox(boxed, key, b"ticket") == b"content"
    assert box(b"content", key, b"ticket") != boxed
    for text, other, bound in (
        (boxed, key, b"tickeT"),
        (boxed, Secret.new(), b"ticket"),
        (boxed[:-1], key, b"ticket"),
        (boxed[:27], key, b"ticket"),
        (b"", key, b"ticket"),
    ):
        with pytest.raises(InvalidTag):
            unbox(text, other, bound)
