"""A run in the terminal: its table, its folder, and how to go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.cli.running import show_run
from fedradio.runs.run import Observer, run
from fedradio.runs.summary import Summary
from fedradio.spec.spec import Spec


def test_progress_then_a_table_and_what_comes_next(
    tiny: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_run(lambda watch: run(tiny(), tmp_path / "my run", observer=watch), tmp_path / "my run", quiet=False)
    text = capsys.readouterr().out
    assert "round 2/2" in text
    assert "best accuracy" in text
    assert f"run folder: {tmp_path / 'my run'}\n" in text
    assert f"fedradio report '{tmp_path / 'my run'}'\n" in text


def test_a_run_in_which_nobody_took_part_ends_with_a_warning(
    cells: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    radio = ("hops.0.link=digital", "hops.0.channel=urban_macro", "hops.0.policy=budget")
    nobody = cells(*radio, "hops.0.deadline_s=1e-9")
    show_run(lambda watch: run(nobody, tmp_path / "my run", observer=watch), tmp_path / "my run", quiet=False)
    text = capsys.readouterr().err
    assert text.startswith("warning no client took part in any round")
    assert text.endswith(f"fedradio plan '{tmp_path / 'my run' / 'spec.yaml'}'\n")


def test_quiet_runs_are_not_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watched: list[Observer | None] = []
    show_run(watched.append, tmp_path, quiet=True)  # type: ignore[arg-type]
    assert watched == [None]
    assert capsys.readouterr().out == f"{tmp_path}\n"


@pytest.mark.parametrize("quiet", [False, True])
def test_an_interruption_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    def interrupted(_: Observer | None) -> Summary:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show_run(interrupted, tmp_path, quiet)
    assert f"resume with: fedradio resume {tmp_path}\n" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        show_run(interrupted, tmp_path / "never made", quiet)
    assert capsys.readouterr().err == ""


def test_the_way_to_go_on_names_the_files_of_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: Observer | None) -> Summary:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show_run(interrupted, tmp_path, quiet=True, parts=[Path("mine.py")])
    assert capsys.readouterr().err.replace("\n", "").endswith("--parts mine.py")
