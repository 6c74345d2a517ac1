"""Numbers for people."""

from fedradio.report.page.numbers import percent, plus_minus, value_words
from fedradio.results.statistics import Interval


def test_numbers_for_people() -> None:
    assert plus_minus(Interval(0.5, 0.01, 3), percent) == "50.00 ± 1.00 %"
    assert plus_minus(Interval(-0.5, 0.0, 3), percent) == "\N{MINUS SIGN}50.00 % ± 0"
    assert plus_minus(Interval(0.5, None, 1), percent) == "50.00 %"
    assert "undefined" in plus_minus(None, percent)
    assert [value_words(one) for one in (None, True, 1e-28, 2.4e9, [1, 2.5], "x")] == [
        "\N{EN DASH}",
        "yes",
        "1e-28",
        "2\u202f400\u202f000\u202f000",
        "[1, 2.5]",
        "x",
    ]
