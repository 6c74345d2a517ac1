"""The request protocol as a table: octets of every step, and who can derive what."""

from __future__ import annotations

from itertools import product

import pytest
from support.knowledge import who_knows

from fedradio.core.contracts.placement import ACCESS_CONTROL_BITS, BACKHAUL_CONTROL_BITS, CHARGING_BITS, FETCH_BITS
from fedradio.papers.protocol import (
    PARTIES,
    knowledge,
    payload_octets,
    request_steps,
    total_bits,
)

KNOWN = {
    "subscriber": ("UE", "ISP"),
    "temporary_name": ("UE", "BS", "ISP"),
    "cell": ("UE", "BS", "ISP", "ES"),
    "content": ("UE", "CSP", "ES"),
    "tag": ("UE", "CSP"),
    "epoch_key": ("UE", "CSP"),
    "payload_key": ("UE", "CSP", "ES"),
    "ticket": ("BS", "ISP", "CSP", "ES"),
    "payload_size": ("UE", "BS", "ISP", "CSP", "ES"),
}
VARIANTS = list(product((False, True), repeat=3))


@pytest.mark.parametrize(("tags_in_clear", "hybrid", "miss"), VARIANTS)
def test_who_can_derive_what(tags_in_clear: bool, hybrid: bool, miss: bool) -> None:
    steps = request_steps(tags_in_clear=tags_in_clear, hybrid=hybrid, miss=miss)
    assert who_knows(steps) == KNOWN | ({"tag": ("UE", "BS", "ISP", "CSP")} if tags_in_clear else {})


def test_the_twelve_steps_and_their_octets() -> None:
    """A file of 1000 octets is one chunk of 1016."""
    steps = {step.number: step for step in request_steps()}
    assert list(steps) == [*"123456789", "9a", "9b", "9c", "9d", "9e", "9f", "9g", "10", "11", "12", "$"]
    assert [number for number, step in steps.items() if step.receiver is None] == ["1", "5", "9", "9g", "12"]
    control = {"2": 144, "3": 148, "4": 132, "6": 96, "7": 100, "8": 96, "9a": 80, "9b": 84, "9c": 80, "$": 24}
    files = {"9d": 1032, "9e": 1032, "9f": 1032, "10": 1032, "11": 1016}
    octets = {number: step.octets(1000) for number, step in steps.items() if step.receiver is not None}
    assert octets == control | files


def test_variants_change_only_the_request() -> None:
    plain = {step.number: step.octets(9) for step in request_steps()}
    clear = {step.number: step.octets(9) for step in request_steps(tags_in_clear=True)}
    hybrid = {step.number: step.octets(9) for step in request_steps(hybrid=True)}
    hit = {step.number: step.octets(9) for step in request_steps(miss=False)}
    assert clear == plain
    assert hybrid == plain | {"2": 1232, "3": 1236, "4": 1220}
    assert hit == {number: octets for number, octets in plain.items() if number not in {f"9{c}" for c in "abcdefg"}}


def test_files_travel_in_chunks() -> None:
    assert [payload_octets(size) for size in (0, 1, 65_536, 65_537, 1_000_000)] == [16, 17, 65_552, 65_569, 1_000_256]


def test_runs_count_the_bits_of_these_messages() -> None:
    steps = request_steps()
    assert total_bits(steps, "2") == ACCESS_CONTROL_BITS == 1152
    assert total_bits(steps, "3", "4", "6", "7") == BACKHAUL_CONTROL_BITS == 3808
    assert total_bits(steps, "$") == CHARGING_BITS == 192
    assert total_bits(steps, "9b", "9c") == FETCH_BITS == 1312


def test_a_company_knows_either_the_subscriber_or_the_content() -> None:
    steps = request_steps()
    assert {"subscriber", "cell", "payload_size"} <= knowledge(steps, "BS", "ISP")
    assert not {"content", "tag", "payload_key", "file"} & knowledge(steps, "BS", "ISP")
    assert {"content", "cell", "payload_size"} <= knowledge(steps, "CSP", "ES")
    assert not {"subscriber", "temporary_name"} & knowledge(steps, "CSP", "ES")
    assert {"subscriber", "content"} <= knowledge(steps, "ISP", "CSP")
    assert {"temporary_name", "content"} <= knowledge(steps, "BS", "ES")


def test_stolen_keys() -> None:
    """An observer at the operator with a key of others; the key of the epoch opens only tags in the clear."""
    steps, clear = request_steps(), request_steps(tags_in_clear=True)
    assert knowledge(steps, "ISP", stolen=["epoch_key"]) == knowledge(steps, "ISP") | {"epoch_key"}
    assert {"content", "payload_key", "nonce"} <= knowledge(steps, "ISP", stolen=["group_key"])
    assert "content" in knowledge(clear, "BS", stolen=["epoch_key"])
    assert {"tag", "file", "content"} <= knowledge(steps, "BS", stolen=["provider_key"])
    assert {"tag", "payload_key"} <= knowledge(steps, "ISP", stolen=["provider_key"])


def test_parties_together_know_at_least_what_each_knows() -> None:
    steps = request_steps()
    assert knowledge(steps) == frozenset()
    assert all(knowledge(steps, party) <= knowledge(steps, *PARTIES) for party in PARTIES)
