"""The number of the format: one sentence about all others."""

import re
from pathlib import Path

import pytest

from fedradio._version import __version__
from fedradio.core.errors import FormatError
from fedradio.core.format import FORMAT, check_format


def test_another_number_is_refused() -> None:
    for number in (FORMAT - 1, FORMAT + 1):
        with pytest.raises(FormatError) as caught:
            check_format({"format": number, "fedradio": "9.9"}, Path("a/b"))
        words = f"a/b has format {number}, but fedradio {__version__} reads {FORMAT}; use fedradio 9.9"
        assert (str(caught.value), caught.value.exit_code) == (words, 5)


@pytest.mark.parametrize("written", [{}, {"fedradio": None}, {"fedradio": 2}])
def test_without_a_version_none_is_named(written: dict[str, object]) -> None:
    with pytest.raises(FormatError) as caught:
        check_format({"format": 2} | written, Path("a/b"))
    assert str(caught.value) == f"a/b has format 2, but fedradio {__version__} reads {FORMAT}; run its spec again"


def test_todays_number_and_none_at_all() -> None:
    check_format({"format": FORMAT, "fedradio": "9.9"}, Path("a"))
    check_format({}, Path("a"))
    check_format({"format": "two"}, Path("a"))


def test_a_folder_of_version_0_2_is_refused_by_one_version_and_sent_to_another() -> None:
    with pytest.raises(FormatError) as caught:
        check_format({"format": 2, "fedradio": "0.2.0.dev0"}, Path("a"))
    mine, theirs = re.findall(r"fedradio (\d\S*\d)", str(caught.value))
    assert (mine, theirs) == (__version__, "0.2.0.dev0")
    assert mine != theirs
