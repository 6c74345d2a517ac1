"""The number of the format: one sentence about all others."""

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


def test_todays_number_and_none_at_all() -> None:
    check_format({"format": FORMAT, "fedradio": "9.9"}, Path("a"))
    check_format({}, Path("a"))
    check_format({"format": "two"}, Path("a"))
