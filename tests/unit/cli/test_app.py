"""The table of commands: it says what the commands themselves say, and lists every module of a command."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from support.commands import Call
from typer.main import get_command
from typer.testing import CliRunner

import fedradio.cli
from fedradio._version import __version__
from fedradio.cli.app import COMMANDS, app, load_command
from fedradio.core import registry

SHARED = {"__init__", "app", "logs", "options", "reading", "running", "where"}
"""Modules of the package that hold no command."""


def test_every_command_has_its_module_and_every_module_its_command() -> None:
    modules = {path.stem for path in Path(fedradio.cli.__file__).parent.glob("*.py")}
    assert modules - SHARED == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    help_text = " ".join((load_command(name).help or "").split("\n\n")[0].split())
    assert help_text == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_only_paragraphs_break_lines_in_help(name: str) -> None:
    assert "\n" not in (load_command(name).help or "").replace("\n\n", "")


def test_help_lists_the_commands_in_the_order_of_the_table() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    places = [shown.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_a_typo_is_answered_with_the_nearest_command() -> None:
    done = CliRunner().invoke(app, ["comprae"])
    assert done.exit_code == 2
    assert "did you mean 'compare'?" in " ".join(done.output.split())


def test_commands_are_called_by_their_own_names() -> None:
    group = typer.main.get_command(app)
    with group.make_context("fedradio", ["cp"], resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, ["cp", "demo"])  # type: ignore[attr-defined]
    assert (name, command.name, rest) == ("cp", "cp", ["demo"])


def test_the_list_has_all_commands(call: Call) -> None:
    text = call("--help").output
    assert all(name in text for name in COMMANDS)
    assert "130 interrupted" in text.replace("\n", " ")
    assert set(get_command(app).commands) == COMMANDS.keys()  # type: ignore[attr-defined]


def test_version_and_unknown_commands(call: Call) -> None:
    assert call("--version").output == f"fedradio {__version__}\n"
    unknown = call("rnu")
    assert unknown.exit_code == 2
    assert "rnu" in unknown.output


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the part files that commands would load; a plug-in cannot be imported."""
    names: list[str] = []
    monkeypatch.setattr(registry, "load_plugins", lambda: ["my_parts cannot be imported"])
    monkeypatch.setattr(
        sys.modules["fedradio.cli.app"], "load_parts", lambda files: names.extend(Path(file).name for file in files)
    )
    return names


def test_parts_are_there_once_before_a_command_runs(
    call: Call, loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDRADIO_PARTS", "first.py")
    assert call("ls", "policy").output.count("warning my_parts cannot be imported") == 1
    assert loaded == ["first.py"]
    loaded.clear()
    assert call("ls", "policy", "--parts", "second.py").output.count("warning my_parts cannot be imported") == 1
    assert loaded == ["first.py", "second.py"]


def test_no_parts_are_needed_for_help_wrong_options_and_other_commands(
    call: Call, loaded: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FEDRADIO_PARTS", "first.py")
    for words in (("ls", "--help"), ("ls", "--typo"), ("run",), ("cp", "demo", tmp_path / "demo.yaml")):
        assert "my_parts" not in call(*words).output
    assert not loaded


def texts(command: Any) -> Iterator[str]:
    """All texts of a command's help."""
    for holder in (command, *command.params, *getattr(command, "commands", {}).values()):
        yield from filter(None, (getattr(holder, name, None) for name in ("help", "epilog")))
    for inner in getattr(command, "commands", {}).values():
        yield from texts(inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word_as_it_is_written(name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 400)
    fresh = get_command(import_module(f"fedradio.cli.{name}").app)
    inner = list(getattr(fresh, "commands", {}))
    shown = "".join(call(name, *words, "--help").output for words in ([], *([one] for one in inner)))
    letters = re.sub(r"[^\w\[\]]", "", shown)
    for text in texts(fresh):
        for line in text.splitlines():
            assert re.sub(r"[^\w\[\]]", "", line) in letters, line
    assert re.findall(r"<[a-z]+>", shown) == []


def test_options_that_several_commands_have_in_common_are_declared_in_one_module() -> None:
    """Each text of help stands once in the package: two commands that share an option take it from ``options``."""
    folder = Path(fedradio.cli.__file__).parent
    helps = [
        ast.unparse(word.value)
        for path in folder.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("typer.Option", "typer.Argument")
        for word in call.keywords
        if word.arg == "help"
    ]
    assert len(helps) > 50
    assert [text for text, number in Counter(helps).items() if number > 1] == []
