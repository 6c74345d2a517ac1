"""The far side of a backend: a process that has built a spec's world and trains parts of its cohorts."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import torch

from fedradio.core.contracts import EvalJob, Fetch, Trained, TrainJob
from fedradio.core.errors import FedradioError
from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import Scored, plan_of, score
from fedradio.engine.memo import Memo, Part
from fedradio.engine.threads import one_torch_thread
from fedradio.remote.jobs import Array, whole_eval_job, whole_train_job
from fedradio.remote.node import Node, compare, load_parts, this_node
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import check_spec


class Trainer:
    """Trains and evaluates for a coordinator elsewhere. Every call is a pure function of its arguments: a process that
    died and was started anew builds its world again, and answers the same.

    ``asker`` is what the coordinator's machine must have in common with this one, as plain data.
    """

    def __init__(self, spec: dict[str, Any], asker: dict[str, Any]) -> None:
        self._spec = spec
        self._asker = asker
        self._engine = Engine(1)
        self._memo = Memo()

    def ready(self) -> dict[str, Any]:
        """Build the world; returns what forbids to use this process (``refused``, empty if nothing does) and what is
        worth knowing (``note``)."""
        found = compare(Node(**self._asker), this_node())
        if found.refused:
            return {"refused": found.refused, "note": found.note}
        try:
            _ = self._world
        except FedradioError as error:
            return {"refused": str(error), "note": ""}
        return {"refused": "", "note": found.note}

    def train(self, w: Array, job: TrainJob, groups: list[list[int]]) -> tuple[Trained, float]:
        """Train a part of a cohort, whose received models are ``w [G, d]``, in these groups; returns the result and the
        seconds that it took."""
        began = time.perf_counter()
        sim, fetch = self._world
        trained = self._engine.train(whole_train_job(job, w, sim, fetch), groups)
        return trained, time.perf_counter() - began

    def score(self, job: EvalJob, parts: list[Part]) -> list[Scored]:
        """Scores of some parts of an evaluation."""
        asked = whole_eval_job(job, self._world[0])
        return score(asked, plan_of(asked, self._memo), parts, 1)

    @cached_property
    def _world(self) -> tuple[Simulation, Fetch]:
        """The simulation of the spec, and the way to its samples, which is that of every mini-batch."""
        load_parts(self._asker["parts"])
        sim = build(check_spec(self._spec), "cpu", 1)
        one = torch.tensor([0]), torch.tensor([1])
        with one_torch_thread():
            return sim, sim.stream.draw(sim.stream.start(), *one, 1, sim.rng.child("fetch")).fetch
