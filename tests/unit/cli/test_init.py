"""The entry point: errors for people, without tracebacks, and exit codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from support.commands import exit_code

from fedradio import cli
from fedradio.core.errors import FedradioError, Problem, SpecError, StoreError

Fail = Callable[[BaseException], tuple[int, str]]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fail:
    """Exit code and standard error where the command raises this."""

    def said(error: BaseException) -> tuple[int, str]:
        def app(*, standalone_mode: bool) -> None:
            assert not standalone_mode
            raise error

        monkeypatch.setattr(cli, "app", app)
        code = exit_code()
        told = capsys.readouterr()
        assert told.out == ""
        return code, told.err

    return said


def test_all_problems_of_the_input_are_listed(fail: Fail) -> None:
    code, text = fail(SpecError([Problem("rule.lr", "is wrong", "0.1"), Problem("model", "is absent")]))
    assert code == 2
    for words in ("2 problem(s)", "rule.lr", "is wrong", "model", "is absent"):
        assert words in text


def test_other_errors_are_one_line_and_their_notes(fail: Fail) -> None:
    error = StoreError("[folder] is in use")
    error.add_note("the last good checkpoint: [none]")
    assert fail(error) == (5, "error [folder] is in use\nthe last good checkpoint: [none]\n")
    assert fail(FedradioError("unexpected")) == (1, "error unexpected\n")


def test_an_unexpected_error_is_told_with_its_traceback_and_steers_nothing(fail: Fail) -> None:
    code, text = fail(ValueError("\x1b[2Jgone [red]"))
    assert code == 1
    assert text.startswith("Traceback")
    assert "ValueError: [2Jgone [red]\n" in text


def test_a_file_that_cannot_be_used_is_a_sentence(fail: Fail) -> None:
    code, text = fail(OSError(36, "File name too long", "x" * 5000))
    assert code == 5
    assert text == f"error {'x' * 150}...{'x' * 147}: File name too long\n"
    assert fail(OSError("something else"))[1].startswith("Traceback")


@pytest.mark.parametrize(
    "words", [["run"], ["run", "demo", "--nonsense\x1b"], ["nonsense"], ["run", "demo", "--seed", "x"]]
)
def test_wrong_arguments_are_told_with_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*words) == 2
    text = capsys.readouterr().err
    assert text.startswith("Usage: ")
    assert "--help' for help.\nerror " in text
    assert "\x1b" not in text


def test_without_arguments_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code() == 2
    out, err = capsys.readouterr()
    assert "Commands" in out
    assert err == ""


def test_warnings_of_libraries_are_lines_like_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: warnings.warn("it is \x1bold", stacklevel=1))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert exit_code() == 0
    assert capsys.readouterr().err == "warning it is old\n"


def test_interrupted(fail: Fail) -> None:
    assert fail(KeyboardInterrupt()) == (130, "")
