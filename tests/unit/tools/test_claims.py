"""The page of claims: every row can be read, names what exists, and the program tells what holds from what does not."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fedradio.cli.app import COMMANDS

ROOT = Path(__file__).parents[3]

NUMBER = re.compile(r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
FACES = {"README.md": "README", "docs/index.md": "home page"}
"""Pages whose numbers all have a row, and the word that their rows begin with."""


def sentences(text: str) -> list[str]:
    """The sentences and rows of tables of a page, without blocks of code and targets of links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    pieces = re.split(r"\n\n|\n(?=[|-])", text)
    return [part for piece in pieces for part in re.split(r"(?<=[.:;])\s", " ".join(piece.split()))]


def uncovered(page: str, rows: list[set[str]]) -> list[str]:
    """The sentences of a page with a number that no single row has."""
    return [line for line in sentences(page) if not any(set(NUMBER.findall(line)) <= row for row in [set(), *rows])]


def demanded(number: str, expected: str) -> bool:
    """Whether an output must have a number: as it is, or as that many rows, a first one and the others."""
    literal = re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", expected.replace("\\", ""))
    return bool(literal) or (number.isdecimal() and f"{{{int(number) - 1}}}" in expected)


@pytest.mark.parametrize(("name", "word"), FACES.items())
def test_every_number_on_the_first_pages_has_a_row(tool: ModuleType, name: str, word: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    claims = [each for each in tool.claims(tool.PAGE.read_text(encoding="utf-8")) if word in each.claim.split(":")[0]]
    numbers = [set(NUMBER.findall(each.claim)) for each in claims]
    for each, row in zip(claims, numbers, strict=True):
        assert [number for number in row if not demanded(number, each.expected)] == []
    assert uncovered(page, numbers) == []
    assert uncovered("It uses 7 J of 105 J in 8.65 s.", numbers) == ["It uses 7 J of 105 J in 8.65 s."]


def test_sentences_and_their_numbers() -> None:
    text = "It uses 1.5 J; all 2,400 of [3](x/4.md) do:\n\n```\n5\n```\n\n- Apache-2.0, x6\n- 7 % of 8"
    found = [NUMBER.findall(each) for each in sentences(text)]
    assert [numbers for numbers in found if numbers] == [["1.5"], ["2,400", "3"], ["7", "8"]]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("claims", ROOT / "tools" / "claims.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["claims"] = module
    found.loader.exec_module(module)
    return module


def test_every_row_of_the_page_is_read(tool: ModuleType) -> None:
    text = tool.PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| claim")]
    assert len(tool.claims(text)) == len(rows) >= 15


def test_commands_name_what_exists(tool: ModuleType) -> None:
    for claim in tool.claims(tool.PAGE.read_text(encoding="utf-8")):
        re.compile(claim.expected)
        for command in re.split(r"&&|;", claim.command):
            words = shlex.split(command)
            if words[0] == "fedradio":
                assert words[1] in COMMANDS, command
            assert (ROOT / claim.file).exists(), claim.file
            for word in words:
                if word.startswith(("tests/", "examples/", "tools/")):
                    assert (ROOT / word).exists(), command


def test_what_holds_and_what_does_not(tool: ModuleType) -> None:
    assert tool.check(tool.Claim("", "echo accuracy 96", "", 0.1, r"accuracy 9\d")) == ""
    assert "no 'accuracy'" in tool.check(tool.Claim("", "echo loss", "", 0.1, "accuracy"))
    assert "exit code 3" in tool.check(tool.Claim("", "exit 3", "", 0.1, "accuracy"))
