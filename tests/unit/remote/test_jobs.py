"""Jobs on their way to another process: they arrive equal, and models and samples stay behind."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
import torch
from support.elsewhere import received

from fedradio.core.contracts import EvalJob, Scores, Trained, TrainJob
from fedradio.engine.backend import Engine
from fedradio.engine.groups import job_of_rows
from fedradio.remote.jobs import bare_eval_job, bare_train_job, whole_eval_job, whole_train_job
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


class Keeping(Engine):
    """An engine that keeps its jobs and the results of training."""

    def __init__(self) -> None:
        super().__init__(1)
        self.trained_jobs: list[tuple[TrainJob, Trained]] = []
        self.evaluated_jobs: list[EvalJob] = []

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        result = super().train(job, groups)
        self.trained_jobs.append((job, result))
        return result

    def evaluate(self, job: EvalJob) -> Scores:
        self.evaluated_jobs.append(job)
        return super().evaluate(job)


def check_equal(one: Any, other: Any) -> None:
    """Both have the same numbers of the same types; tensors of ``other`` can be written to."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype
        assert torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
        other.add_(0)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            check_equal(one[name], other[name])
    elif isinstance(one, list | tuple):
        for mine, theirs in zip(one, other, strict=True):
            check_equal(mine, theirs)
    elif is_dataclass(one):
        for field in fields(one):
            check_equal(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [each for inner in value.values() for each in tensors_in(inner)]
    inside = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else []
    return [each for inner in inside for each in tensors_in(inner)]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("demo", ("rule.keep_state=true", "rule.momentum=0.9", "rule.lr_per_step=true")),
        ("fedcpsl", ("algorithm.pseudo=gradient", "algorithm.pseudo_rate=0.1")),
        (
            "digits_flat",
            (
                "model=cnn_batchnorm",
                "topology.clients=4",
                "hops.0.policy.clients=2",
                "data.partition=iid",
                "algorithm=scaffold",
                "precision=bf16",
            ),
        ),
    ],
    ids=["slots", "pairs", "buffers"],
)
def test_jobs_and_results_arrive_equal(name: str, changes: tuple[str, ...]) -> None:
    engine = Keeping()
    sim = build(load_spec(name, changes), backend=engine)
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state)
    for job, result in engine.trained_jobs:
        part = job_of_rows(job, [len(job.updates) - 1, 0])
        bare = bare_train_job(part)
        whole = whole_train_job(received(bare), part.start.w.numpy(), sim, part.batches.fetch)
        assert whole.model is job.model
        assert whole.precision == job.precision == sim.precision
        check_equal(
            [part.rule, part.start, part.updates, part.t, part.rng],
            [whole.rule, whole.start, whole.updates, whole.t, whole.rng],
        )
        check_equal(part.batches.labelled, whole.batches.labelled)
        check_equal(part.batches.unlabelled, whole.batches.unlabelled)
        check_equal(result, received(result))
        assert (bare.model, bare.batches.fetch, bare.start.w.numel()) == (None, None, 0)
    for job in engine.evaluated_jobs:
        bare = bare_eval_job(job)
        whole = whole_eval_job(received(bare), sim)
        check_equal((job.ensemble, job.local, job.top), (whole.ensemble, whole.local, whole.top))
        assert (whole.model, whole.metrics) == (job.model, job.metrics)
        assert torch.equal(whole.test.index, job.test.index)
        assert (bare.model, bare.test, bare.metrics) == (None, None, ())


def test_little_more_travels_than_the_numbers_of_a_job() -> None:
    """A tensor that is a view of a larger one would take all of that along."""
    engine = Keeping()
    sim = build(load_spec("demo"), backend=engine)
    run_round(sim, begin(sim))
    job, result = engine.trained_jobs[0]
    for value in (bare_train_job(job_of_rows(job, [1, 0])), result):
        stored = sum(each.untyped_storage().nbytes() for each in tensors_in(value))
        assert stored <= 1.5 * sum(each.nbytes for each in tensors_in(value))
