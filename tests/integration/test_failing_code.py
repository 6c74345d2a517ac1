"""Code of the user's own that fails in the middle of a run: told without a traceback, and the run can be resumed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from support import processes
from support.processes import FORKED_WORKERS
from support.worlds import cells
from torch import Tensor, nn

from fedradio import Observer, OwnCodeError, open_run, resume, run, wrap
from fedradio.core.contracts import RoundRecord, SimState

MODEL = '''"""A model that cannot read some batches."""

from torch import nn

from fedradio import register, wrap


class Picky(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        if BROKEN:
            x = x.reshape(2, -1, 64)
        return self.head(x.flatten(1))


@register("model", "picky")
def picky(shape, classes, /):
    """A linear layer."""
    return wrap(Picky(classes), shape, classes)
'''

ALGORITHM = '''"""An algorithm that counts up to two."""

from dataclasses import dataclass

from fedradio import FedAvg, register


@dataclass(frozen=True)
class Counting(FedAvg):
    def upload(self, cohort, trained, work):
        if cohort.clock.t == 2:
            raise ZeroDivisionError("two is too much")
        return super().upload(cohort, trained, work)


@register("algorithm", "counting")
def counting():
    """FedAvg with an end."""
    return Counting()
'''

SPEC = """
name: mine
rounds: 4
topology: {kind: flat, clients: 3}
rule: {kind: sgd, batch: 7}
"""


def fedradio(here: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return processes.fedradio(here, *words, before=FORKED_WORKERS)


def test_a_module_that_fails_on_a_later_batch_from_a_file(tmp_path: Path) -> None:
    """Batches of the trial have two and three samples, those of the run seven."""
    (tmp_path / "mine.yaml").write_text(SPEC + "model: picky\n")
    (tmp_path / "parts.py").write_text(MODEL.replace("BROKEN", "len(x) == 7"))
    told = fedradio(tmp_path, "run", "mine.yaml", "--parts", "parts.py", "--out", "run", "-q")
    assert told.returncode == 2
    assert "round 1: the model Picky fails on a batch of shape (7, 1, 8, 8) in training (RuntimeError: " in told.stderr
    assert "Traceback" not in told.stderr
    assert open_run(tmp_path / "run").status == "failed"
    swept = fedradio(tmp_path, "sweep", "mine.yaml", "--parts", "parts.py", "--seeds", 2, "--jobs", 2, "--out", "sweep")
    assert swept.returncode == 2
    assert "the model Picky fails on a batch of shape" in swept.stderr + swept.stdout
    assert "Traceback" not in swept.stderr


def test_any_other_part_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(SPEC + "algorithm: counting\n")
    (tmp_path / "parts.py").write_text(ALGORITHM)
    told = fedradio(tmp_path, "run", "mine.yaml", "--parts", "parts.py", "--out", "run", "-q")
    assert told.returncode == 2
    assert "round 3: parts.py, line 12: ZeroDivisionError: two is too much" in told.stderr
    assert "Traceback" not in told.stderr
    (tmp_path / "parts.py").write_text(ALGORITHM.replace("t == 2", "t == 9"))
    mended = fedradio(tmp_path, "resume", "run", "--parts", "parts.py", "--changed-parts", "-q")
    assert mended.returncode == 0, mended.stderr
    assert open_run(tmp_path / "run").status == "complete"


class Moody(nn.Module):
    """Fails on all batches of more than three samples after a while."""

    fails = False

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        if Moody.fails and len(x) > 3:
            raise ValueError("not today")
        logits: Tensor = self.head(x.flatten(1))
        return logits[:-1] if Moody.fails and not torch.is_grad_enabled() else logits


class FailAfter(Observer):
    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        Moody.fails = state.t >= self.rounds


def test_a_composed_run_goes_on_once_the_module_is_mended(tmp_path: Path) -> None:
    def sim() -> object:
        Moody.fails = False
        return cells(model=lambda shape, classes: wrap(Moody(), shape, classes))

    whole = run(sim(), tmp_path / "whole", rounds=4)
    with pytest.raises(OwnCodeError, match=r"^round 3: the model Moody fails on a batch of shape \(\d+, ") as caught:
        run(sim(), tmp_path / "run", rounds=4, observer=FailAfter(2))
    assert isinstance(caught.value.__cause__.__cause__, ValueError)
    again = resume(tmp_path / "run", simulation=sim())
    assert again.evaluations == whole.evaluations
    model = [(folder / "model.safetensors").read_bytes() for folder in (tmp_path / "run", tmp_path / "whole")]
    assert model[0] == model[1]


def test_outputs_of_another_shape_in_an_evaluation() -> None:
    Moody.fails = False
    model = wrap(Moody(), (64,), 10)
    row = torch.zeros(model.size)
    Moody.fails = True
    try:
        with pytest.raises(OwnCodeError, match=r"batch of shape \(3, 64\) in evaluation .*outputs of shape \(2, 10\)"):
            model.apply(row, torch.zeros(3, 64))
    finally:
        Moody.fails = False
