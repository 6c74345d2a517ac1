"""``fedradio compare`` and ``fedradio figures`` as a user meets them."""

import json
import shutil
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib.figure import Figure
from PIL import Image
from support.sealing import list_runs, unfinish

from fedradio.cli import main
from fedradio.report.figures.axes import save_figure
from fedradio.results.run import open_run
from fedradio.results.sweep_file import MARKER
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


class Said(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the entry point in this process, with enough columns."""
    monkeypatch.setenv("COLUMNS", "160")

    def said(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["fedradio", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        return Said(int(end.value.code or 0), told.out, told.err)

    return said


@pytest.fixture
def sweep(cells: Make, tmp_path: Path) -> Path:
    """Two algorithms on two seeds, with one of two clients a cell left out."""
    for algorithm in ("fedavg", "scaffold"):
        for seed in (1, 2):
            folder = tmp_path / "runs" / f"{algorithm}-seed{seed}"
            changes = [f"algorithm={algorithm}", f"seed={seed}", "hops.0.policy={kind: sampling, clients: 2, steps: 3}"]
            run(cells(*changes), folder)
    specs = {algorithm: open_run(tmp_path / f"runs/{algorithm}-seed1").spec for algorithm in ("fedavg", "scaffold")}
    list_runs(tmp_path, {f"algorithm={name}": (name, spec, [1, 2]) for name, spec in specs.items()})
    return tmp_path


@pytest.fixture
def blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, and saved as empty files, which is quick."""

    def touch(_: Figure, path: Path, *__: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    monkeypatch.setattr("fedradio.report.figures.gallery.save_figure", touch)


def test_compare_prints_tables(call: Call, sweep: Path) -> None:
    done = call("compare", sweep, "--target", "0.01")
    assert done.code == 0, done.err
    for words in ("algorithm=fedavg", "accuracy %", "±", "minus algorithm=fedavg", "2 of 2", "energy", "Mbit"):
        assert words in done.out
    assert "\x1b" not in done.out


def test_compare_prints_json_alone(call: Call, sweep: Path) -> None:
    done = call("compare", sweep, "--metric", "loss", "--baseline", "scaffold", "--json")
    told = json.loads(done.out)
    assert (told["metric"], told["baseline"], told["rising"]) == ("loss", "algorithm=scaffold", False)
    assert [row["seeds"] for row in told["rows"]] == [[1, 2], [1, 2]]


@pytest.mark.usefixtures("blank")
def test_compare_draws_curves(call: Call, sweep: Path) -> None:
    done = call("compare", sweep / "runs" / "fedavg-seed1", sweep, "--figures", sweep / "new")
    assert done.code == 0, done.err
    assert len(list((sweep / "new").iterdir())) == 8
    assert str(sweep / "new" / "accuracy-joules.pdf") in done.out


@pytest.mark.usefixtures("blank")
def test_runs_that_are_not_complete_are_told(call: Call, sweep: Path) -> None:
    unfinish(sweep / "runs" / "fedavg-seed2")
    done = call("compare", sweep)
    assert done.code == 0
    assert "left out, unfinished" in done.out
    assert "only one pair of seeds" in done.out
    drawn = call("figures", sweep, "--format", "png", "--quiet")
    assert "left out, unfinished" in drawn.err
    alone = call("figures", sweep / "runs" / "fedavg-seed2", "--format", "png")
    assert "drawn up to where it stopped, unfinished" in alone.err
    for one in ("fedavg-seed1", "scaffold-seed1", "scaffold-seed2"):
        shutil.rmtree(sweep / "runs" / one)
    (sweep / "runs" / "fedavg-seed2" / "records.jsonl").write_text("")
    empty = call("figures", sweep / "runs" / "fedavg-seed2")
    assert empty.code == 0
    assert "reasons was not drawn: no edge round is on record" in empty.out


def test_wrong_folders_are_named_with_code_5(call: Call, sweep: Path) -> None:
    done = call("compare", "nowhere", sweep / "runs", sweep)
    assert done.code == 5
    assert "nowhere is not a run folder" in done.err
    assert "4 of the folders in it are" in done.err
    shutil.rmtree(sweep / "runs")
    (sweep / "runs").mkdir()
    assert "no runs in" in call("compare", sweep).err


def test_two_equal_runs_are_compared(call: Call, sweep: Path) -> None:
    first, again = sweep / "runs" / "fedavg-seed1", sweep / "runs" / "again"
    shutil.copytree(first, again)
    done = call("compare", first, again)
    assert done.code == 0
    assert str(again) in done.out.replace("\n", "")
    assert "+0.00" in done.out


def test_wrong_options_are_all_told_with_code_2(call: Call, sweep: Path) -> None:
    done = call("compare", sweep, "--metric", "acuracy", "--baseline", "nobody")
    assert done.code == 2
    assert "did you mean 'accuracy'?" in done.err
    assert "no such variant" in done.err
    formats = call("figures", sweep, "--format", "pgn,svg")
    assert formats.code == 2
    assert "did you mean 'png'?" in formats.err
    assert "2 problems" in formats.err
    assert call("figures", sweep, "--format", ",").code == 2
    several = call("figures", sweep / "runs" / "fedavg-seed1", sweep)
    assert (several.code, "--out" in several.err) == (2, True)


def test_figures_are_written_into_the_folder_and_the_same_again(call: Call, sweep: Path) -> None:
    folder = sweep / "runs" / "scaffold-seed1"
    done = call("figures", folder, "--format", "pdf")
    assert done.code == 0, done.err
    assert "spread was not drawn: all clients share one test set" in done.out
    before = {file.name: file.read_bytes() for file in (folder / "figures").iterdir()}
    assert {"network.pdf", "selection.pdf", "reasons.pdf", "accuracy-bits.pdf"} <= before.keys()
    quiet = call("figures", folder, "-q", "--format", "pdf")
    assert len(quiet.out.split()) == len(before)
    assert {file.name: file.read_bytes() for file in (folder / "figures").iterdir()} == before


@pytest.mark.usefixtures("blank")
def test_figures_of_a_sweep_tell_what_needs_a_single_run(call: Call, sweep: Path) -> None:
    done = call("figures", sweep, "--out", sweep / "pictures", "--format", "png")
    assert "network was not drawn: it shows a single run" in done.out
    assert (sweep / "pictures" / "energy-clients.png").is_file()
    assert not list((sweep / "pictures").glob("*.pdf"))


def test_a_folder_that_cannot_be_made_has_code_5(call: Call, sweep: Path) -> None:
    blocked = call("figures", sweep, "--out", sweep / MARKER)
    assert (blocked.code, "cannot write" in blocked.err) == (5, True)


def test_interruption_leaves_whole_files_and_code_130(call: Call, sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Path] = []

    def interrupted(figure: Figure, path: Path, dpi: int) -> None:
        if saved:
            figure.savefig = raising  # type: ignore[method-assign]
        saved.append(path)
        save_figure(figure, path, dpi)

    def raising(data: BytesIO, **_: object) -> None:
        data.write(b"half of")
        raise KeyboardInterrupt

    monkeypatch.setattr("fedradio.report.figures.gallery.save_figure", interrupted)
    done = call("figures", sweep, "--out", sweep / "pictures", "--format", "png")
    assert done.code == 130
    assert len(saved) == 2
    assert [*(sweep / "pictures").iterdir()] == saved[:1]
    Image.open(saved[0]).verify()


def test_a_single_variant_has_nothing_to_compare_with(call: Call, sweep: Path) -> None:
    done = call("compare", sweep / "runs" / "fedavg-seed1")
    assert done.code == 0
    assert "less" not in done.out
    assert "there is only one seed" in done.out


def test_runs_that_a_sweep_lacks_are_told(call: Call, sweep: Path) -> None:
    shutil.rmtree(sweep / "runs" / "scaffold-seed2")
    done = call("compare", sweep)
    assert done.code == 0
    assert "not begun" in done.out
    assert "rows use different seeds" in done.out
