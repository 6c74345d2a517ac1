"""Whole rounds of one spec in three ways, which take turns: fedradio, the same without the ways to save work, and plain
torch.

fedradio's round has its planning, links, merging, evaluation and records. Plain torch trains the same clients on the
same mini-batches from the same start, and evaluates the same models on the same samples, as most people write it: one
``nn.Module``, torch's SGD, one client after the other, every prediction from the start. It has no network.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from fedradio.core.contracts import Backend, EvalJob, Model, Scores, SimState, Trained, TrainJob
from fedradio.engine import coordinates, distinct, memo
from fedradio.engine.evaluate import models
from fedradio.losses.fedcpsl import FedCpslLoss
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import RunFolder
from fedradio.runs.records import exchange_row, round_row
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

CHUNK = 500
"""Samples that plain torch evaluates at once."""


@contextmanager
def saving(work: bool) -> Iterator[None]:
    """With or without shared inputs, kept log-probabilities and coordinates."""
    before = distinct.SHARE, memo.REMEMBER, coordinates.PROJECT
    distinct.SHARE = memo.REMEMBER = coordinates.PROJECT = work
    try:
        yield
    finally:
        distinct.SHARE, memo.REMEMBER, coordinates.PROJECT = before


@dataclass
class Noting(Backend):
    """A backend that notes its jobs, and the CPU seconds of evaluations."""

    inner: Backend
    evaluation_s: float = 0.0
    trained: list[TrainJob] = field(default_factory=list)
    evaluated: list[EvalJob] = field(default_factory=list)

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        self.trained.append(job)
        return self.inner.train(job, groups)

    def evaluate(self, job: EvalJob) -> Scores:
        self.evaluated.append(job)
        began = time.process_time()
        scores = self.inner.evaluate(job)
        self.evaluation_s += time.process_time() - began
        return scores


class Ours:
    """Rounds of a spec with evaluation and records; notes the jobs of the last one, and the seconds of evaluations."""

    def __init__(self, spec: Spec, folder: Path, workers: int = 1, save: bool = True) -> None:
        sim = build(spec, workers=workers)
        self.save, self.jobs = save, Noting(sim.backend)
        self.sim: Simulation = replace(sim, backend=self.jobs)
        self.state: SimState = begin(self.sim)
        self.folder = RunFolder(folder)
        self.evaluation_s: list[float] = []

    def __call__(self) -> None:
        self.jobs.trained.clear()
        self.jobs.evaluated.clear()
        self.jobs.evaluation_s = 0.0
        with saving(self.save):
            self.state, record, exchanges = run_round(self.sim, self.state)
        self.folder.append(*map(exchange_row, exchanges), round_row(record))
        self.evaluation_s.append(self.jobs.evaluation_s)


class PlainTorch:
    """The jobs of fedradio's last round in plain torch."""

    def __init__(self, ours: Ours) -> None:
        self.jobs = ours.jobs

    def __call__(self) -> None:
        for job in self.jobs.trained:
            train(job)
        for one in self.jobs.evaluated:
            evaluate(one)

    def flops(self) -> int:
        """Products and convolutions of the jobs."""
        with FlopCounterMode(display=False) as counter:
            self()
        return int(counter.get_total_flops())


def train(job: TrainJob) -> list[nn.Module]:
    """The updates of every client, one after the other; the shared models that they end with."""
    trained = []
    for row, updates in enumerate(job.updates.tolist()):
        start = job.start.w[int(job.start.group[row])]
        rates = job.rule.rates(job.t, updates)
        loss = job.rule.loss
        if loss is None:
            module, optimiser = _trainee(job.model, start, job.rule.momentum)
            for j, rate in enumerate(rates):
                x, y = _samples(job, row, j)
                _step(optimiser, rate, cross_entropy(module(x), y))
        else:
            assert isinstance(loss, FedCpslLoss)
            module = _train_pair(job, loss, row, start, rates)
        trained.append(module)
    return trained


def _train_pair(job: TrainJob, loss: FedCpslLoss, row: int, start: Tensor, rates: list[float]) -> nn.Module:
    """The updates of a client's pair of models, with pseudo-labels of the received one; the shared model."""
    b = float(job.start.known["mixture"][row])
    common, moves = _trainee(job.model, start, job.rule.momentum)
    own, own_moves = _trainee(job.model, job.start.rows["own"][row], loss.momentum_own)
    received = copy.deepcopy(common)
    for j, rate in enumerate(rates):
        x, y = _samples(job, row, j)
        dark = _unlabelled(job, row, j)
        with torch.no_grad():
            nu = (loss.alpha_p / loss.alpha_r * received(dark)).softmax(1)
        samples = torch.cat([x, dark])
        z = common(samples)
        moved = (1 - b) * z.detach().softmax(1) + b * own(samples).softmax(1)
        _step(moves, rate, _cost(loss, z.log_softmax(1), y, nu))
        _step(own_moves, loss.lr_factor * rate, _cost(loss, moved.log(), y, nu))
    return common


def _cost(loss: FedCpslLoss, log_p: Tensor, y: Tensor, nu: Tensor) -> Tensor:
    """The semi-supervised cost but for what does not depend on the model."""
    lit, dark = log_p[: len(y)], log_p[len(y) :]
    entropy = (dark.exp() * dark).sum(1).mean()
    return cross_entropy(lit, y) + loss.alpha_p * cross_entropy(dark, nu) + loss.alpha_r * entropy


def evaluate(job: EvalJob) -> int:
    """Loss and hits of every sample under every model that is to judge it; how many hits there are."""
    hits = 0
    clients, test = models(job), job.test
    bounds = test.bounds() if test.per_client and clients > 1 else [(0, len(test.index))] * clients
    for client, (lo, hi) in enumerate(bounds):
        rows = [member[client if len(member) > 1 else 0] for member in job.ensemble.members]
        modules = [_loaded(job.model, row).eval() for row in rows]
        weights = [float(w[client]) if isinstance(w, Tensor) else w for w in job.ensemble.weight]
        for i in range(lo, hi, CHUNK):
            x, y = test.fetch(test.index[i : min(i + CHUNK, hi)])
            with torch.no_grad():
                p = torch.stack([w * module(x).softmax(1) for w, module in zip(weights, modules, strict=True)]).sum(0)
                p.gather(1, y[:, None]).log().sum()
                hits += int((p.topk(job.top, dim=1).indices == y[:, None]).sum())
    return hits


def _samples(job: TrainJob, row: int, j: int) -> tuple[Tensor, Tensor]:
    picks = job.batches.labelled
    return job.batches.fetch(picks.index[row, j, : int(picks.count[row, j])])


def _unlabelled(job: TrainJob, row: int, j: int) -> Tensor:
    picks = job.batches.unlabelled
    assert picks is not None
    return job.batches.fetch(picks.index[row, j, : int(picks.count[row, j])])[0]


def _loaded(model: Model, row: Tensor) -> nn.Module:
    module = copy.deepcopy(model.module)
    module.load_state_dict(model.shared.views(row[: model.shared.size]))
    return module


def _trainee(model: Model, row: Tensor, momentum: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    module = _loaded(model, row).train()
    return module, torch.optim.SGD(module.parameters(), lr=0.0, momentum=momentum)


def _step(optimiser: torch.optim.Optimizer, rate: float, loss: Tensor) -> None:
    optimiser.param_groups[0]["lr"] = rate
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()


def in_turns(
    contenders: dict[str, Callable[[], object]], repeat: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median seconds of contenders that take turns; the first turn warms up and does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeat + 1):
        for name, do in contenders.items():
            began = clock()
            do()
            ended = clock()
            if turn:
                seconds[name].append(ended - began)
    return {name: statistics.median(values) for name, values in seconds.items()}
