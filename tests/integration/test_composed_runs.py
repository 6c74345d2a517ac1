"""Composed simulations have run folders: resumed as if in one go, read by every command, and bit-equal for a seed."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import pytest
import torch
from support.commands import exit_code
from support.worlds import cells, tiny
from torch import Tensor, nn

from fedradio import Observer, Run, StoreError, compare, export, open_run, page, resume, run, wrap
from fedradio.core.contracts import Model, RoundRecord, SimState
from fedradio.models import mlp
from fedradio.report.terminal.console import SafeConsole
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.report.terminal.summary import simulation_lines
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import MODEL_FILE, RECORDS_FILE


class Net(nn.Module):
    """A module of the user's own, which torch fills from its global generator."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.head = nn.Linear(64, 12), nn.BatchNorm1d(12), nn.Linear(12, 10)
        self.drop = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.drop(torch.relu(self.norm(self.first(x.flatten(1))))))
        return logits


class Bare(nn.Module):
    """A module whose parameter nothing can fill anew."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(10, 64))

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.weight.T


def simulation() -> Simulation:
    return cells(model=lambda shape, classes: wrap(Net(), shape, classes))


class StopAfter(Observer):
    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == self.rounds:
            raise KeyboardInterrupt


def records(folder: Path) -> list[dict[str, object]]:
    """The records without wall time."""
    rows = [json.loads(line) for line in (folder / RECORDS_FILE).read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "wall_s"} for row in rows]


def same(one: Path, other: Path) -> bool:
    return records(one) == records(other) and (one / MODEL_FILE).read_bytes() == (other / MODEL_FILE).read_bytes()


@pytest.fixture
def whole(tmp_path: Path) -> Run:
    return run(simulation(), tmp_path / "whole", rounds=4, name="mine")


def test_resumed_as_if_in_one_go(whole: Run, tmp_path: Path) -> None:
    for rounds in (1, 3):
        cut = tmp_path / f"cut{rounds}"
        with pytest.raises(KeyboardInterrupt):
            run(simulation(), cut, rounds=4, name="mine", observer=StopAfter(rounds))
        with pytest.raises(StoreError, match=r"simulation=\.\.\."):
            resume(cut)
        assert resume(cut, simulation=simulation()).status == "complete"
        assert same(whole.folder, cut)
    resume(whole.folder)  # complete: nothing is asked for
    longer = resume(whole.folder, simulation=simulation(), rounds=5)
    assert len(longer.rounds) == 5
    assert same(longer.folder, run(simulation(), tmp_path / "five", rounds=5, name="mine").folder)


def test_a_lost_file_is_made_again(whole: Run, tmp_path: Path) -> None:
    before = records(whole.folder)
    (whole.folder / MODEL_FILE).write_bytes(b"")
    assert open_run(whole.folder).status == "damaged"
    resume(whole.folder, simulation=simulation())
    assert open_run(whole.folder).status == "complete"
    assert records(whole.folder) == before


def test_every_reader_reads_it(whole: Run, tmp_path: Path) -> None:
    assert "Reproduce" in page(whole.folder)
    assert "class Net(nn.Module)" in page(whole.folder)
    assert compare([whole]) is not None
    assert sum(export(whole.folder, out=tmp_path / "tables").values()) > 0


def test_commands_read_it_and_resume_names_the_python_line(
    whole: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert exit_code("verify", whole.folder) == 0
    assert "intact (complete)" in capsys.readouterr().out
    assert exit_code("compare", whole.folder) == 0
    assert exit_code("resume", whole.folder) == 0  # there is nothing left to do
    capsys.readouterr()
    assert exit_code("resume", whole.folder, "--rounds", 9) == 5
    assert "fedradio.resume(" in capsys.readouterr().err
    assert exit_code("run", whole.folder / "spec.yaml") == 2
    assert "composed in Python" in " ".join(capsys.readouterr().err.split())


def test_the_same_seed_twice_is_bit_equal(whole: Run, tmp_path: Path) -> None:
    torch.rand(3)  # whatever torch's generator has done before
    again = run(simulation(), tmp_path / "again", rounds=4, name="mine")
    assert same(whole.folder, again.folder)


def test_start_values_that_no_seed_draws_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the header of the run, and for those who read it later."""
    sim = cells(model=lambda shape, classes: wrap(Bare(), shape, classes))
    digits = hashlib.sha256(bytes(10 * 64 * 4)).hexdigest()[:12]
    with RunProgress(SafeConsole(width=200)) as progress:
        made = run(sim, tmp_path / "bare", rounds=1, observer=progress)
    assert f"start     values as given, sha256 {digits} (Bare has no reset_parameters)" in capsys.readouterr().out
    text = page(made.folder)
    assert hashlib.sha256(bytes(10 * 64 * 4)).hexdigest() in text
    assert "not drawn from the seed: Bare has no reset_parameters" in text


def test_drawn_start_values_are_not(whole: Run) -> None:
    assert "start" not in whole.description
    assert not [line for line in simulation_lines(simulation(), whole.spec) if line.startswith("start")]


def test_a_composed_run_says_which_are_personal(tmp_path: Path) -> None:
    """Other personal parameters are another run."""
    sims = [tiny(model=partial(personal_mlp, globs=globs)) for globs in (["3.*"], ["3.bias"], ["3.*"])]
    names = [run(sim, tmp_path / str(number), rounds=1).spec.sha256() for number, sim in enumerate(sims)]
    assert names[0] == names[2] != names[1]


def personal_mlp(shape: tuple[int, ...], classes: int, globs: list[str]) -> Model:
    return mlp(shape, classes, hidden=(16,)).personalised(globs)
