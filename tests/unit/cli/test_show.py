"""``fedradio show``."""

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError


def test_a_part_with_its_keywords(call: Call) -> None:
    text = call("show", "fedprox").output
    for words in ("algorithm/fedprox", "paper:", "mu", ">= 0", "0.01"):
        assert words in text
    assert "no parameters" in call("show", "schedule/constant").output


def test_a_family_tells_parts_of_one_name_apart(call: Call) -> None:
    assert "rule/adam" in call("show", "rule/adam").output
    assert isinstance(call("show", "algorithm/adam").exception, SpecError)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("policy", "it is a family: fedradio ls policy"),
        ("demo", "it is a shipped spec: fedradio cp demo mine.yaml"),
        ("fedporx", "did you mean 'fedprox'"),
        ("xyzzy", "fedradio ls lists them all"),
    ],
)
def test_what_is_no_part(call: Call, name: str, words: str) -> None:
    refused = call("show", name).exception
    assert isinstance(refused, SpecError)
    assert words in str(refused)
