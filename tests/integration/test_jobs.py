"""Jobs of training and evaluation in another process: the same bits as here, for one spec of every family."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context
from typing import Any

import pytest
import torch

from fedradio.core.contracts import EvalJob, Scores, Trained, TrainJob
from fedradio.engine import Engine
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

FAMILIES = {
    "demo": ("schedule={kind: inverse, per: update}",),
    "rawhfl": ("hops.0.period=1", "hops.0.policy.max_steps=2", "schedule={kind: step, at: [1]}"),
    "osafl": ("hops.0.policy.max_steps=1", "data.source.test_requests=20", "schedule={kind: cosine, rounds: 9}"),
    "whfl": ("hops.0.period=1", "hops.0.policy.steps=1", "schedule={kind: linear, rounds: 9}"),
    "fedcpsl": ("algorithm.finetune_after=5",),
}
"""A quick spec of every family, with less work; between them every schedule."""


class Keeping(Engine):
    """An engine that keeps the first of its jobs of both kinds, with the results."""

    def __init__(self) -> None:
        super().__init__(2)
        self.first: list[tuple[TrainJob, list[list[int]], Trained]] = []
        self.scored: list[tuple[EvalJob, Scores]] = []

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        trained = super().train(job, groups)
        self.first = self.first or [(job, groups, trained)]
        return trained

    def evaluate(self, job: EvalJob) -> Scores:
        scores = super().evaluate(job)
        self.scored = self.scored or [(job, scores)]
        return scores


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process that has nothing of this one but what is sent to it."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def same(a: Any, b: Any) -> bool:
    """Whether two values of a result are equal, tensors bit for bit; NaN is NaN."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a.nan_to_num(-1.0), b.nan_to_num(-1.0))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


def differing(here: Trained | Scores, there: Trained | Scores) -> list[str]:
    """Names of the fields in which two results differ."""
    names = [field.name for field in fields(here)]
    return [name for name in names if not same(getattr(here, name), getattr(there, name))]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_job_can_be_done_in_another_process(name: str, elsewhere: ProcessPoolExecutor) -> None:
    backend = Keeping()
    sim = build(load_spec(name, FAMILIES[name]), backend=backend)
    run_round(sim, begin(sim))
    job, groups, trained = backend.first[0]
    assert differing(trained, elsewhere.submit(Engine.train, Engine(1), job, groups).result()) == []
    question, scores = backend.scored[0]
    assert differing(scores, elsewhere.submit(Engine.evaluate, Engine(1), question).result()) == []
