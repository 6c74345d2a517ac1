"""What shells are offered for the Tab key."""

from pathlib import Path

import pytest
import typer
from click.shell_completion import ShellComplete

from fedradio.cli.app import app
from fedradio.core import registry


@pytest.fixture(autouse=True)
def asked_by_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_FEDRADIO_COMPLETE", "complete_bash")


def offered(line: str) -> list[str]:
    """The words that a shell is offered for the last word of a line."""
    _, *words, last = line.split(" ")
    shell = ShellComplete(typer.main.get_command(app), {}, "fedradio", "_FEDRADIO_COMPLETE")
    return [item.value for item in shell.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fedradio rep", ["report", "reproduce"]),
        ("fedradio nothing", []),
        ("fedradio run demo --see", ["--seed"]),
        ("fedradio run --device c", ["cpu", "cuda"]),
    ],
)
def test_commands_options_and_fixed_values(line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_no_part_is_loaded_for_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("print('loaded')\n")
    monkeypatch.setattr(registry, "load_plugins", lambda: print("loaded"))
    assert offered(f"fedradio run --parts {tmp_path / 'mine.py'} --dev") == ["--device"]
    assert capsys.readouterr() == ("", "")
