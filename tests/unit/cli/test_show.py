"""``fedradio show``."""

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError
from fedradio.spec.files import shipped_text


def test_a_part_with_its_keywords(call: Call) -> None:
    text = call("show", "fedprox").output
    for words in ("algorithm/fedprox", "paper:", "mu", ">= 0", "0.01"):
        assert words in text
    assert "no parameters" in call("show", "schedule/constant").output


def test_a_family_tells_parts_of_one_name_apart(call: Call) -> None:
    assert "rule/adam" in call("show", "rule/adam").output
    assert isinstance(call("show", "algorithm/adam").exception, SpecError)


def test_a_family_lists_its_kinds(call: Call) -> None:
    shown = call("show", "link").output.splitlines()
    assert shown[0] == "link: how payloads become a sum at the receiver"
    assert shown[1:] == call("ls", "link").output.splitlines()
    assert any("over_the_air" in line for line in shown)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fedporx", "did you mean 'fedprox'"),
        ("xyzzy", "list all parts with fedradio ls; --parts FILE loads your own"),
    ],
)
def test_what_is_no_part(call: Call, name: str, words: str) -> None:
    refused = call("show", name).exception
    assert isinstance(refused, SpecError)
    assert words in str(refused)


def test_a_shipped_spec_is_shown_as_it_is_written(call: Call) -> None:
    done = call("show", "demo")
    assert done.exit_code == 0
    assert shipped_text("demo").splitlines()[0] in done.output
    assert "fedradio cp demo mine.yaml" in done.output
