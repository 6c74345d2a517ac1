"""Console blocks of a page: their commands are run here, and what they print is compared with what the page says.

A block is one whose first line begins with ``$``; a command may go on behind a backslash. Numbers may differ, as they
do between processors; a line ``...`` stands for any lines. ``cat FILE`` of a file that is not there makes it, with the
text that is shown; a code block with a ``title`` is a file of that name.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import exit_code
from support.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
PIECE = re.compile(r'^```(?:console|\w+ title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
LEFT = re.compile(r", about [^,]* left$", re.MULTILINE)
"""The remaining time of a sweep, which quick machines do not tell."""


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Every command of a block, on one line, and what it prints."""
    if text.startswith("$ "):
        for piece in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            yield " ".join(command.split("\n")), output


def unfolded(page: str) -> str:
    """A page whose folded blocks stand open, without their indentation."""
    return re.sub(
        r'^\?\?\? \w+ "[^"]*"\n((?:\n| {4}.*\n)+)', lambda found: textwrap.dedent(found[1]), page, flags=re.MULTILINE
    )


def included(text: str) -> str:
    """A code block with the files that it takes from the repository."""
    return re.sub(r"--8<--\n(.*?)\n--8<--\n", lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), text)


def plain(text: str) -> list[str]:
    """The lines of a text with ``#`` for numbers and checksums and one space for many, without empty ones."""
    text = re.sub(r"sha256 (<!--.*?-->|\w+)", "sha256 #", LEFT.sub("", text))
    text = re.sub(r"^(wall time|disk|peak memory) .*$", r"\1", text, flags=re.MULTILINE)  # of the machine
    lines = [" ".join(re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?", "#", line).split()) for line in text.splitlines()]
    return [line for line in lines if line]


def fits(found: list[str], wanted: list[str]) -> bool:
    """Whether lines are those that are wanted, where ``...`` stands for any lines."""
    if not wanted:
        return not found
    if wanted[0] == "...":
        return any(fits(found[start:], wanted[1:]) for start in range(len(found) + 1))
    return bool(found) and found[0] == wanted[0] and fits(found[1:], wanted[1:])


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints in the present folder."""
    words = shlex.split(command)
    if words[0] == "fedradio" and not {"|", ">", "&&"} & {*words}:
        capsys.readouterr()
        exit_code(*words[1:])
        both = capsys.readouterr()
        return both.out + both.err
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    how = {"env": os.environ | {"PATH": path}, "capture_output": True, "text": True, "timeout": PATIENCE_S}
    return subprocess.run(command, shell=True, check=True, **how).stdout


def check_page(page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> int:
    """Run all commands of a page, one after the other from the present folder; returns how many there were."""
    count = 0
    for block in PIECE.finditer(unfolded(page)):
        title = block["title"]
        if title is not None and "/" not in title and not Path(title).exists():  # with a folder: in the repository
            Path(title).write_text(included(block["text"]), encoding="utf-8")
        for command, expected in commands(block["text"]):
            count += 1
            name, _, rest = command.partition(" ")
            if name == "cd":
                monkeypatch.chdir(rest)
                continue
            if name == "cat" and not Path(rest).exists():
                Path(rest).write_text(expected, encoding="utf-8")
            wanted, found = plain(expected), plain(printed(command, capsys))
            if not fits(found, wanted):
                assert found == wanted, command
    return count
