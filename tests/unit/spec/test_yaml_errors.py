"""Broken YAML is told in plain words, with line, column and remedy."""

import pytest
import yaml

from fedradio.spec.yaml_errors import no_yaml


@pytest.mark.parametrize(
    ("text", "reason", "remedy", "line"),
    [
        ("a: 1\nb: {kind: mlp\nc: 3\n", "line 2, column 4: { is not closed", "close it with }", "b: {kind: mlp"),
        ("a: [1, 2\n", "line 1, column 4: [ is not closed", "close it with ]", "a: [1, 2"),
        ('a: 1\nb: "x\nc: 3\n', 'line 2, column 4: " is not closed', 'close it with "', 'b: "x'),
        ("a: 1\n\tb: 2\n", "line 2, column 1: a tab", "indent with spaces", "b: 2"),
        (
            "a: 1\nb: 3: 4\n",
            "line 2, column 5: a colon where no key can be",
            "write one key per line; quote texts that contain a colon and a space",
            "b: 3: 4",
        ),
        (
            "a:\n  b: 1\n c: 2\n",
            "line 3, column 2: this line is not indented like the lines it belongs to",
            "use the same number of spaces for all of them",
            "c: 2",
        ),
        ("a: 1\nb\n", "line 3, column 1: a key without a colon", "write key: value", ""),
        ("a: @x\n", "line 1, column 4: this character is not allowed here", "quote the text that contains it", "a: @x"),
    ],
)
def test_plain_words(text: str, reason: str, remedy: str, line: str) -> None:
    with pytest.raises(yaml.YAMLError) as caught:
        yaml.safe_load(text)
    told = no_yaml(caught.value, text)
    assert (str(told), told.remedy, told.line) == (reason, remedy, line)


def test_errors_without_a_place_are_one_line() -> None:
    assert str(no_yaml(ValueError("a\n  b"), "")) == "a b"
