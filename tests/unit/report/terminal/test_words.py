"""Counts, durations and plain tables."""

from __future__ import annotations

import pytest
from support.terminal import shown

from fedradio.report.terminal.words import count, plain_table, rough


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (5400, "2 h"), (1e5, "28 h"), (1e6, "12 days")]
)
def test_rough_durations(seconds: float, words: str) -> None:
    assert rough(seconds) == words


def test_nouns_follow_their_numbers() -> None:
    assert (count(0, "seed"), count(1, "seed"), count(2, "seed")) == ("0 seeds", "1 seed", "2 seeds")


def test_a_plain_table_has_a_header_and_no_frame() -> None:
    table = plain_table(("one", "two"))
    table.add_row("a", "b")
    assert [line.split() for line in shown(table).splitlines()] == [["one", "two"], ["a", "b"]]
