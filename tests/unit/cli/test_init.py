"""The entry point: errors for people, without tracebacks, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

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
    for words in ("2 problems", "rule.lr", "is wrong", "model", "is absent"):
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


def test_a_folder_whose_name_could_pass_for_a_line_of_output_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = tmp_path / "run\nother: intact (complete)"
    forged.mkdir()
    assert exit_code("verify", forged) == SpecError.exit_code
    told = capsys.readouterr()
    assert "line break" in told.err
    assert not any(line.startswith("other") for line in (told.out + told.err).splitlines())


def test_a_reader_that_has_closed_the_pipe_does_not_fail_the_run(tmp_path: Path) -> None:
    spec = tmp_path / "small.yaml"
    spec.write_text("{name: small, rounds: 20, topology: {kind: flat, clients: 2}, model: {kind: logistic}}")
    command = [sys.executable, "-m", "fedradio", "run", spec, "--out", tmp_path / "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "complete"


def test_a_reader_of_plain_data_may_stop_reading(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.out, "on_broken_pipe", lambda: None)
    assert fail(BrokenPipeError()) == (0, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_process_without_standard_streams_runs(tmp_path: Path, closed: str) -> None:
    run = f"run digits_flat --rounds 1 --out {tmp_path / 'run'}"
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m fedradio {run} {closed}"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "complete"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("full", [">/dev/full", ">/dev/full 2>/dev/full"])
def test_a_full_disk_under_the_output_is_one_sentence(full: str) -> None:
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m fedradio ls link {full}"], capture_output=True, text=True)
    assert done.returncode == StoreError.exit_code
    told = "error the output cannot be written: No space left on device\n"
    assert done.stderr == ("" if "2>" in full else told)
