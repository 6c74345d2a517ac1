"""The entry point: errors for people, without tracebacks, and exit codes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedradio import cli
from fedradio.core.errors import FedradioError, Problem, SpecError, StoreError

Fail = Callable[[BaseException], tuple[int, str]]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fail:
    """Exit code and standard error where the command raises this."""

    def said(error: BaseException) -> tuple[int, str]:
        def app() -> None:
            raise error

        monkeypatch.setattr(cli, "app", app)
        with pytest.raises(SystemExit) as end:
            cli.main()
        told = capsys.readouterr()
        assert told.out == ""
        assert isinstance(end.value.code, int)
        return end.value.code, told.err

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


def test_interrupted(fail: Fail) -> None:
    assert fail(KeyboardInterrupt()) == (130, "")
