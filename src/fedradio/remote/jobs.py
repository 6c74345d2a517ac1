"""Jobs of training and evaluation as plain data: numbers and numpy arrays, which any machine can read.

Models, rules and samples never travel: whoever does a job has built them from the same spec.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import (
    Batches,
    Ensemble,
    EvalJob,
    Fetch,
    Picks,
    PseudoLabels,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.rng import Rng
from fedradio.engine.evaluate import Scored
from fedradio.engine.memo import Part
from fedradio.rounds.simulation import Simulation

Array = np.ndarray[Any, Any]
Plain = dict[str, Any]

ROWS = ("group", "shift", "local", "ids", "own", "mixture")
"""Tensors of a :class:`Start` with a row per client."""


def to_array(values: Tensor | None) -> Array | None:
    return None if values is None else values.detach().cpu().numpy()


def to_tensor(values: Array | None) -> Tensor | None:
    """A copy: arrays that come from elsewhere are read-only, and kernels write in place."""
    return None if values is None else torch.from_numpy(np.array(values))


def plain_train_job(job: TrainJob) -> Plain:
    """A training job without its received models ``w``, which all parts of a cohort share."""
    start, unlabelled = job.start, job.batches.unlabelled
    return {
        "t": job.t,
        "lr": job.rule.lr,
        "rng": (job.rng.seed, job.rng.path, job.rng.run_seed),
        "updates": to_array(job.updates),
        "start": {name: to_array(getattr(start, name)) for name in ROWS},
        "slots": {name: to_array(values) for name, values in start.slots.items()},
        "labels": None if start.labels is None else (to_array(start.labels.number), to_array(start.labels.nu)),
        "labelled": _plain_picks(job.batches.labelled),
        "unlabelled": None if unlabelled is None else _plain_picks(unlabelled),
    }


def train_job(plain: Plain, w: Array, sim: Simulation, fetch: Fetch) -> TrainJob:
    """The job again, with the model, the rule and the samples of a simulation of the same spec.

    The rate is the job's own: a client may divide it by its number of local steps.
    """
    labels = None
    if plain["labels"] is not None:
        labels = PseudoLabels(*(_tensor(values) for values in plain["labels"]))
    rows: dict[str, Any] = {name: to_tensor(values) for name, values in plain["start"].items()}
    start = Start(
        _tensor(w),
        **rows,
        slots={name: _tensor(values) for name, values in plain["slots"].items()},
        labels=labels,
    )
    labelled = _picks(plain["labelled"])
    unlabelled = None if plain["unlabelled"] is None else _picks(plain["unlabelled"])
    return TrainJob(
        model=sim.model,
        rule=replace(sim.rule, lr=plain["lr"]),
        t=plain["t"],
        start=start,
        batches=Batches(labelled, unlabelled, fetch),
        updates=_tensor(plain["updates"]),
        rng=Rng(plain["rng"][0], tuple(plain["rng"][1]), plain["rng"][2]),
    )


def plain_trained(trained: Trained) -> Plain:
    """The result of training."""
    named = {field.name: getattr(trained, field.name) for field in fields(Trained) if field.name != "slots"}
    return {
        **{name: to_array(values) for name, values in named.items()},
        "slots": {name: to_array(values) for name, values in trained.slots.items()},
    }


def trained_of(plain: Plain) -> Trained:
    """The result of training again."""
    slots = {name: _tensor(values) for name, values in plain["slots"].items()}
    rows: dict[str, Any] = {name: to_tensor(values) for name, values in plain.items() if name != "slots"}
    return Trained(**rows, slots=slots)


def plain_eval_job(job: EvalJob) -> Plain:
    """An evaluation of models that all clients share: everything but model, test samples and metrics."""
    return {
        "members": [to_array(member) for member in job.ensemble.members],
        "weight": [to_array(one) if isinstance(one, Tensor) else one for one in job.ensemble.weight],
        "local": to_array(job.local),
        "top": job.top,
    }


def eval_job(plain: Plain, sim: Simulation) -> EvalJob:
    """The evaluation again, with the model, the test samples and the metrics of a simulation of the same spec."""
    weight = tuple(one if isinstance(one, float) else _tensor(one) for one in plain["weight"])
    ensemble = Ensemble(tuple(_tensor(member) for member in plain["members"]), weight)
    return EvalJob(sim.model, ensemble, sim.stream.test(), to_tensor(plain["local"]), plain["top"], sim.metrics)


def plain_parts(parts: list[Part]) -> list[tuple[int, int, int]]:
    return [(part.client, part.lo, part.hi) for part in parts]


def plain_scored(scored: Scored) -> Plain:
    """The scores of a part."""
    return {field.name: to_array(getattr(scored, field.name)) for field in fields(Scored)}


def scored_of(plain: Plain) -> Scored:
    """The scores of a part again."""
    tensors: dict[str, Any] = {name: to_tensor(values) for name, values in plain.items()}
    return Scored(**tensors)


def _plain_picks(picks: Picks) -> tuple[Array | None, Array | None]:
    return to_array(picks.index), to_array(picks.count)


def _picks(plain: tuple[Array, Array]) -> Picks:
    return Picks(_tensor(plain[0]), _tensor(plain[1]))


def _tensor(values: Array) -> Tensor:
    return torch.from_numpy(np.array(values))
