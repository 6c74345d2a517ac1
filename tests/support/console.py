"""Console blocks of a page: their commands are run here, and what they print is compared with what the page says.

Numbers may differ, as they do between processors; a line ``...`` stands for all that follows. ``cat FILE`` of a file
that is not there makes it, with the text that is shown.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import exit_code

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Every command of a page, and what it prints."""
    for block in BLOCK.findall(page):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            yield command, output


def plain(text: str) -> list[str]:
    """The lines of a text with ``#`` for numbers and one space for many, without empty ones."""
    lines = [" ".join(re.sub(r"\d[\d.,]*(e[-+]?\d+)?", "#", line).split()) for line in text.splitlines()]
    return [line for line in lines if line]


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints in the present folder."""
    words = shlex.split(command)
    if words[0] == "fedradio":
        capsys.readouterr()
        exit_code(*words[1:])
        both = capsys.readouterr()
        return both.out + both.err
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path}
    return subprocess.run(command, shell=True, env=env, capture_output=True, text=True, timeout=120, check=True).stdout


def check_page(page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> int:
    """Run all commands of a page, one after the other from the present folder; returns how many there were."""
    count = 0
    for command, expected in commands(page):
        count += 1
        name, _, rest = command.partition(" ")
        if name == "cd":
            monkeypatch.chdir(rest)
            continue
        if name == "cat" and not Path(rest).exists():
            Path(rest).write_text(expected, encoding="utf-8")
        wanted, found = plain(expected), plain(printed(command, capsys))
        if wanted and wanted[-1] == "...":
            wanted, found = wanted[:-1], found[: len(wanted) - 1]
        assert found == wanted, command
    return count
