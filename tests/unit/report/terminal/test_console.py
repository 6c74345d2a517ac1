"""The console: nothing in a text steers the terminal, and nothing is read as markup."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

import fedradio
from fedradio.report.terminal.console import SafeConsole, say, text_column

SOURCE = Path(fedradio.__file__).parent
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def console(**options: object) -> SafeConsole:
    return SafeConsole(file=io.StringIO(), width=200, **options)


def text_of(screen: SafeConsole) -> str:
    return str(screen.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b]0;x\x07", "]0;x"),
        ("[red]a[/]", "[red]a[/]"),
        ("[/]", "[/]"),
        (":smile:", ":smile:"),
        ("a\rb", "ab"),
        ("\x9b31m", "31m"),
        ("a\u202eb\u2066c\u200f", "abc"),
        ("a\x00b\x7fc\x85d\u2028e", "abcde"),
        ("two\nlines", "two\nlines"),
        ("caf\udce9", "caf\ufffd"),
        ("Zürich 上海 naïve", "Zürich 上海 naïve"),
    ],
)
def test_a_text_is_shown_as_it_is_but_for_what_steers(given: str, shown: str) -> None:
    for options in ({}, {"force_terminal": True}):
        screen = console(**options)
        say(screen, given)
        screen.print(given)
        assert text_of(screen) == f"{shown}\n{shown}\n"


@given(st.text(alphabet=st.sampled_from("[]/=ared\x1b\x9b\r\n\u202e"), max_size=20))
def test_tables_and_bars_are_no_way_around(text: str) -> None:
    table = Table(title=text, caption=text)
    table.add_column(text)
    table.add_column(Text(text))
    table.add_row(text, Text(text))
    screen = console(force_terminal=True, color_system=None)
    screen.print(Group(table, Text(text)))
    with Progress(text_column("{task.description}{task.fields[more]}"), console=screen, transient=True) as bar:
        bar.add_task(text, more=text)
        bar.refresh()
        bars = screen.render_lines(bar.get_renderable())
    assert not re.search("[\x1b\x9b\r\u202e]", "".join(piece.text for line in bars for piece in line))
    printed = re.sub(r"\x1b\[\??[0-9]*[A-Za-z]|\r", "", text_of(screen))  # rich's own: cursor and lines of the bar
    assert not re.search("[\x1b\x9b\r\u202e]", printed)


def test_columns_stay_aligned() -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("name")
    table.add_column("x")
    table.add_row("a\x1b\x9b\u202eb", "1")
    table.add_row("abcd", "2")
    screen = console()
    screen.print(table)
    assert [line.rstrip() for line in text_of(screen).splitlines()] == ["name  x", "ab    1", "abcd  2"]


def test_own_colours_stay() -> None:
    screen = console(force_terminal=True, color_system="standard")
    say(screen, ("note", "red"), " [red]plain[/]")
    assert text_of(screen) == "\x1b[31mnote\x1b[0m [red]plain[/]\n"


def calls(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_there_is_no_other_way_to_the_terminal() -> None:
    """Whoever needs another one adds it here, with the reason why nothing foreign comes out of it."""
    allowed = {
        ("report/terminal/console.py", "TextColumn"): "the column that reads no markup",
        ("cli/compare.py", "typer.echo"): "JSON, which is ASCII",
        ("cli/diagnose.py", "typer.echo"): "JSON, which is ASCII",
        ("cli/plan.py", "typer.echo"): "JSON, and CSV of numbers and of our own words",
        ("cli/schema.py", "typer.echo"): "JSON, which is ASCII",
        ("cli/verify.py", "typer.echo"): "JSON, which is ASCII",
    }
    ways = {
        "print",
        "typer.echo",
        "Console",
        "TextColumn",
        "Text.from_markup",
        "Panel",
        "sys.stdout.write",
        "sys.stderr.write",
    }
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in calls(path)
        if name in ways
    }
    assert found == allowed.keys()
    markup = [path for path in SOURCE.rglob("*.py") if "rich.markup" in path.read_text(encoding="utf-8")]
    assert markup == []


def test_the_width_is_read_whenever_something_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test that sets COLUMNS, or one terminal at the start of the process, decides nothing for what comes later."""
    monkeypatch.setenv("COLUMNS", "70")
    console = SafeConsole(file=io.StringIO())
    assert console.width == 70
    monkeypatch.setenv("COLUMNS", "90")
    assert console.width == 90
    monkeypatch.delenv("COLUMNS")
    assert console.width == 160
    assert SafeConsole(file=io.StringIO(), width=50).width == 50
