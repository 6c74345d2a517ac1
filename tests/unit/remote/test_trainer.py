"""The far side of a backend: it refuses what it cannot do, and answers the same after a new start."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from fedradio.core.contracts import Trained, TrainJob
from fedradio.engine.backend import Engine
from fedradio.remote.jobs import bare_train_job
from fedradio.remote.node import this_node
from fedradio.remote.trainer import Trainer
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


class Keeping(Engine):
    """An engine that keeps its jobs."""

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        self.job, self.groups = job, groups
        self.result = super().train(job, groups)
        return self.result


def test_a_new_process_answers_the_same() -> None:
    spec, engine = load_spec("demo"), Keeping(1)
    sim = build(spec, backend=engine)
    run_round(sim, begin(sim))
    w, job = engine.job.start.w.numpy(), bare_train_job(engine.job)
    for _ in range(2):
        trained, seconds = Trainer(spec.plain, asdict(this_node())).train(w, job, engine.groups)
        assert torch.equal(trained.delta, engine.result.delta)
        assert seconds > 0


def test_data_that_is_not_there_is_a_reason_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path))
    spec = load_spec("demo", ["data.source=mnist"])
    assert "mnist" in Trainer(spec.plain, asdict(this_node())).ready()["refused"]
    older = asdict(replace(this_node(), torch="0.1"))
    assert "torch" in Trainer(load_spec("demo").plain, older).ready()["refused"]
    assert Trainer(load_spec("demo").plain, asdict(this_node())).ready() == {"refused": "", "note": ""}
