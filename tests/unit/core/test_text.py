"""Text that steers nothing, and names that are free."""

from __future__ import annotations

import unicodedata
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from fedradio.core.text import harmless, numbered_names, short_path


def test_names_to_try_begin_with_the_plain_one() -> None:
    assert list(islice(numbered_names("a"), 3)) == ["a", "a-2", "a-3"]


def test_long_paths_keep_both_ends() -> None:
    assert short_path("a/b") == "a/b"
    assert short_path("a" * 9 + "b" * 9, longest=12) == "aaaaaa...bbb"


@given(st.text(alphabet=st.characters(codec=None)))
def test_no_control_character_is_left(text: str) -> None:
    """``Cc`` are control characters; overrides and isolates of direction have bidirectional classes of their own."""
    left = harmless(text)
    left.encode()
    assert all(unicodedata.category(letter) != "Cc" or letter == "\n" for letter in left)
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not directions & {unicodedata.bidirectional(letter) for letter in left}


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_all_else_stays(text: str) -> None:
    assert harmless(text) == text
