"""Numbers for people."""

import pytest

from fedradio.report.page.numbers import percent, plus_minus, spec_yaml, value_words
from fedradio.results.statistics import Interval
from fedradio.spec.files import shipped
from fedradio.spec.spec import load_spec
from fedradio.spec.yaml import parse_yaml


def test_numbers_for_people() -> None:
    assert plus_minus(Interval(0.5, 0.01, 3), percent) == "50.00 ± 1.00 %"
    assert plus_minus(Interval(-0.5, 0.0, 3), percent) == "\N{MINUS SIGN}50.00 % ± 0"
    assert plus_minus(Interval(0.5, None, 1), percent) == "50.00 %"
    assert "undefined" in plus_minus(None, percent)
    assert [value_words(one) for one in (None, True, 1e-28, 2.4e9, [1, 2.5], "x")] == [
        "\N{EN DASH}",
        "yes",
        "1e-28",
        "2.4e9",
        "[1, 2.5]",
        "x",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (540000.0, "5.4e5"),
        (123456, "123\u202f456"),
        (60000, "60000"),
        (1e12, "1e12"),
        (3.9810717e-21, "3.9810717e-21"),
        (-2.4e9, "-2.4e9"),
        (0.001, "0.001"),
        ({"carrier_hz": 2.4e9}, "carrier_hz = 2.4e9"),
    ],
)
def test_numbers_of_specs_are_short(value: object, words: str) -> None:
    assert value_words(value) == words


def test_a_spec_on_the_page_is_the_spec() -> None:
    text = spec_yaml(load_spec("rawhfl").plain)
    assert "carrier_hz: 2.4e9" in text
    for name in shipped()[::8]:
        plain = load_spec(name).plain
        assert parse_yaml(spec_yaml(plain), name) == plain


def test_a_part_is_told_by_its_kind_and_what_is_set() -> None:
    assert value_words({"kind": "fedprox", "mu": 1.0}) == "fedprox (mu = 1)"
    assert value_words({"kind": "fedavg"}) == "fedavg"
    assert value_words({"first": 1, "second": [2]}) == "first = 1, second = [2]"
