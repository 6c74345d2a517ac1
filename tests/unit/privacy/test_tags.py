"""Rotating tags: a known value, nothing in common between epochs, keys that travel in 64 octets."""

import pytest

from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret
from fedradio.privacy.tags import EpochKey, TagTable, number, unwrap, wrap


def test_a_tag_by_hand() -> None:
    """HMAC-SHA256 by its definition, H(K xor opad, H(K xor ipad, text)), key of 32 zero octets, content 1."""
    from hashlib import sha256

    inner = sha256(b"\x36" * 64 + b"\x00\x00\x00\x01").digest()
    outer = sha256(b"\x5c" * 64 + inner).digest()
    assert EpochKey(0, Secret(bytes(32))).tag(1) == outer[:16]


def test_tags_of_two_epochs_have_no_match_among_all_contents() -> None:
    first, second = (TagTable.of(EpochKey(k, Secret.new()), 256) for k in (0, 1))
    assert len(first.content) == len(second.content) == 256
    assert not first.content.keys() & second.content.keys()
    assert first.content[first.key.tag(17)] == 17
    assert "17" not in repr(first)


def test_the_key_of_an_epoch_travels_in_64_octets_to_its_account_alone() -> None:
    account, key = Secret.new(), EpochKey(7, Secret.new())
    notice = wrap(key, account)
    assert len(notice) == 64
    found = unwrap(notice, account)
    assert (found.epoch, found.key) == (7, key.key)
    assert key.key.reveal() not in notice
    flipped = notice[:15] + bytes([notice[15] ^ 1]) + notice[16:]  # the number of the epoch
    for other, by in ((notice, Secret.new()), (flipped, account), (notice[:-1], account)):
        with pytest.raises(Refused) as error:
            unwrap(other, by)
        assert error.value.refusal is Refusal.ALTERED_KEY


def test_numbers_have_the_highest_octet_first() -> None:
    assert number(258, 4) == b"\x00\x00\x01\x02"
