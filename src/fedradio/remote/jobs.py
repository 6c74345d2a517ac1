"""Jobs of training and evaluation on their way to another process: without models, rules and samples.

These never travel: the process that does a job has built them from the same spec.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from fedradio.core.contracts import EvalJob, Fetch, LocalRule, TrainJob
from fedradio.rounds.simulation import Simulation

Array = np.ndarray[Any, Any]

LEFT_OUT: Any = None
"""Stands for what is left out of a job."""


def bare_train_job(job: TrainJob) -> TrainJob:
    """A training job without model, samples and received models ``w``, which all parts of a cohort share.

    Of its rule, only the rate stays: a client may have divided it by its number of local steps.
    """
    start, batches = replace(job.start, w=torch.empty(0)), replace(job.batches, fetch=LEFT_OUT)
    return replace(job, model=LEFT_OUT, rule=LocalRule(job.rule.lr), start=start, batches=batches)


def whole_train_job(job: TrainJob, w: Array, sim: Simulation, fetch: Fetch) -> TrainJob:
    """The training job with the model, the rule and the samples of a simulation of the same spec.

    Note: ``w`` is copied. Arrays from another process are read-only, and kernels write in place.
    """
    start, batches = replace(job.start, w=torch.from_numpy(np.array(w))), replace(job.batches, fetch=fetch)
    return replace(job, model=sim.model, rule=replace(sim.rule, lr=job.rule.lr), start=start, batches=batches)


def bare_eval_job(job: EvalJob) -> EvalJob:
    """An evaluation of models that all clients share, without model, test samples and metrics."""
    return replace(job, model=LEFT_OUT, test=LEFT_OUT, metrics=())


def whole_eval_job(job: EvalJob, sim: Simulation) -> EvalJob:
    """The evaluation with the model, the test samples and the metrics of a simulation of the same spec."""
    return replace(job, model=sim.model, test=sim.stream.test(), metrics=sim.metrics)
