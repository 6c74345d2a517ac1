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
            for word in words:
                if word.startswith(("tests/", "examples/", "tools/")):
                    assert (ROOT / word).exists(), command


def test_what_holds_and_what_does_not(tool: ModuleType) -> None:
    assert tool.check(tool.Claim("", "echo accuracy 96", 0.1, r"accuracy 9\d")) == ""
    assert "no 'accuracy'" in tool.check(tool.Claim("", "echo loss", 0.1, "accuracy"))
    assert "exit code 3" in tool.check(tool.Claim("", "exit 3", 0.1, "accuracy"))
