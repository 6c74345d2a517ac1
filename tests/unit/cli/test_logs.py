"""``--log`` and ``FEDRADIO_LOG`` of every command."""

import logging
from pathlib import Path

import pytest
from support.commands import Call, exit_code

from fedradio.cli.app import COMMANDS, load_command
from fedradio.cli.logs import LOGGER, Lines


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_it(name: str) -> None:
    command = load_command(name)
    for each in getattr(command, "commands", {"": command}).values():
        names = {word for parameter in each.params for word in parameter.opts}
        assert "--log" in names, each.name
        assert not {"-v", "--verbose"} & names, each.name


def test_nothing_is_told_unasked(call: Call, source: Path, tmp_path: Path) -> None:
    assert call("run", source, "--out", tmp_path / "run", "-q").output == f"{tmp_path / 'run'}\n"
    assert LOGGER.handlers == []
    assert LOGGER.level == logging.NOTSET


def test_runs_tell_what_they_do(call: Call, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_LOG", "info")
    told = call("run", source, "--out", tmp_path / "one", "-q").output
    assert "2 of 2 rounds to make" in told
    assert "tiny is complete after 2 rounds" in told
    assert "round 1 of 2" not in told
    monkeypatch.setenv("FEDRADIO_LOG", "debug")
    more = call("run", source, "--out", tmp_path / "two", "-q").output
    assert "round 1 of 2" in more
    assert "checkpoint after round 2" in more
    assert LOGGER.handlers == []


def test_an_unknown_level(source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FEDRADIO_LOG", "loud")
    assert exit_code("validate", source) == 2
    assert "FEDRADIO_LOG  unknown level  'loud'  info or debug" in capsys.readouterr().err


def test_the_log_is_appended_to_and_holds_tracebacks(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "my.log"
    assert exit_code("run", source, "--out", tmp_path / "run", "-q", "--log", log) == 0
    first = log.read_text()
    assert first.startswith("20")
    assert " DEBUG fedradio: fedradio " in first
    assert "INFO fedradio.runs.run: tiny is complete after 2 rounds" in first
    assert exit_code("run", source, "--out", tmp_path / "run", "-q", "--log", log) == 5
    second = log.read_text().removeprefix(first)
    assert "\n    Traceback" in second
    assert "is not empty" in second


def test_a_log_that_cannot_be_written(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("run", source, "--log", tmp_path / "none" / "x.log") == 5
    assert "cannot write" in capsys.readouterr().err


def test_no_message_can_pass_for_a_line() -> None:
    record = logging.LogRecord("fedradio", logging.INFO, "", 0, "bad\n2026 name\x1b[31m", (), None)
    assert Lines("%(message)s").format(record) == "bad\n    2026 name[31m"
