"""The table of commands, and texts that are printed as they are."""

from __future__ import annotations

import io
from importlib import import_module

import pytest
from rich.console import Console
from support.commands import Call
from typer.main import get_command

from fedradio._version import __version__
from fedradio.cli import app
from fedradio.cli.app import COMMANDS, load_command, say
from fedradio.core import registry


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module_that_says_the_same(name: str) -> None:
    """The first line of the command's own help is that of the list."""
    command = get_command(import_module(f"fedradio.cli.{name}").app)
    assert command.help is not None
    assert command.help.split("\n\n")[0].replace("\n", " ") == COMMANDS[name].help


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


def test_plug_ins_that_fail_are_told_where_parts_matter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "load_plugins", lambda: ["my_parts cannot be imported"])
    assert load_command("ls").name == "ls"
    assert "warning my_parts cannot be imported" in capsys.readouterr().err
    load_command("cp")
    assert capsys.readouterr().err == ""


def test_markup_is_printed_as_it_is() -> None:
    console = Console(file=io.StringIO(), width=20)
    say(console, ("[red]bold[/]", "bold"), " a path that is longer than the terminal")
    assert console.file.getvalue() == "[red]bold[/] a path that is longer than the terminal\n"  # type: ignore[attr-defined]
