"""Runs named on the command line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from support.past import two_rounds
from support.sealing import blank_summary, list_runs, other_format, write_summary

from fedradio.cli.reading import print_drawings, read_runs
from fedradio.core.errors import StoreError
from fedradio.report.figures.gallery import Drawing
from fedradio.report.terminal.console import SafeConsole
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.export import export
from fedradio.spec.spec import Spec


@pytest.fixture
def progress() -> LateProgress:
    return LateProgress(SafeConsole(file=io.StringIO()))


def test_a_single_run_is_read_also_where_it_is_not_complete(
    tmp_path: Path, tiny: Callable[..., Spec], progress: LateProgress
) -> None:
    two_rounds(tmp_path / "a", tiny("topology.clients=2"))
    (found,) = read_runs([tmp_path / "a"], progress, exchanges=True)[0]
    assert {"rounds", "evaluations", "digest"} <= found.__dict__.keys()


def test_of_several_only_complete_ones_are_read(
    tmp_path: Path, tiny: Callable[..., Spec], progress: LateProgress
) -> None:
    for seed in (1, 2):
        two_rounds(tmp_path / str(seed), tiny("topology.clients=2", f"seed={seed}"))
    write_summary(tmp_path / "2", blank_summary(tiny("topology.clients=2", "seed=2")))
    one, other = read_runs([tmp_path / "1", tmp_path / "2"], progress)[0]
    assert "rounds" not in one.__dict__
    assert "rounds" in other.__dict__


def test_a_sweep_without_runs(tmp_path: Path, progress: LateProgress) -> None:
    list_runs(tmp_path, {})
    with pytest.raises(StoreError, match="no runs in"):
        read_runs([tmp_path], progress)


def test_a_sweep_of_another_format_is_one_sentence_a_run(
    tmp_path: Path, tiny: Callable[..., Spec], progress: LateProgress
) -> None:
    spec = tiny("topology.clients=2", "seed=1")
    list_runs(tmp_path, {"one": ("a", spec, [1, 2])})
    (tmp_path / "runs").mkdir()
    two_rounds(tmp_path / "runs/a-seed1", spec)
    other_format(tmp_path / "runs/a-seed1")
    with pytest.raises(StoreError) as caught:
        read_runs([tmp_path], progress)
    first, old, absent = str(caught.value).splitlines()
    assert first == f"no runs in {tmp_path}"
    assert old.startswith(f"{tmp_path / 'runs/a-seed1/records.jsonl'} has format 2, but")
    assert absent == f"{tmp_path / 'runs/a-seed2'} is not begun"
    with pytest.raises(StoreError) as refused:
        export(tmp_path)
    assert str(refused.value) == old


def test_what_was_drawn_and_why_others_were_not(capsys: pytest.CaptureFixture[str]) -> None:
    drawings = [
        Drawing("map", Figure),
        Drawing("energy", Figure, "without [free]: joules are undefined"),
        Drawing("spread", None, "all clients share one test set"),
    ]
    print_drawings([Path("map.pdf"), Path("map.png"), Path("energy.png")], drawings)
    assert capsys.readouterr().out.splitlines() == [
        "map.pdf, map.png",
        "energy.png",
        "  without [free]: joules are undefined",
        "  spread was not drawn: all clients share one test set",
    ]
