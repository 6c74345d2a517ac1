"""One simulation on a Ray cluster: its cohorts trained, and its models evaluated, by actors."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from statistics import median
from typing import Any

from fedradio.core.contracts import Backend, EvalJob, Scores, Trained, TrainJob
from fedradio.core.errors import FedradioError, Problem, SpecError
from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import models, plan_of, summed
from fedradio.engine.groups import check_groups, job_of_rows, put_together
from fedradio.engine.local import finish, prepare
from fedradio.engine.memo import Memo
from fedradio.remote.jobs import bare_eval_job, bare_train_job
from fedradio.remote.node import this_node
from fedradio.remote.ray_cluster import cluster, cpus_of
from fedradio.remote.trainer import Trainer
from fedradio.spec.spec import Spec

RESTARTS = 2
"""How often an actor that died is started anew, and its call made again."""

CALLS_BEFORE_WARNING, KEPT_CALLS = 3, 100


class RayBackend(Backend):
    """A :class:`Backend` of so many actors, each with the world of the spec, which it has built itself.

    The coordinator's groups are shared out, those with most work first, to the actor with least; results are rows in
    the order of the clients, so that no number depends on who trained what. Samples never travel. Models of clients'
    own are evaluated by the coordinator, which remembers those that have not changed. ``calls`` are the seconds of the
    last trainings: of the busiest actor, and all else.
    """

    def __init__(self, ray: Any, spec: Spec, actors: int) -> None:
        self._ray = ray
        self._local = Engine()
        self._memo = Memo()
        self.calls: deque[tuple[float, float]] = deque(maxlen=KEPT_CALLS)
        self._warned = False
        asker = asdict(this_node())
        options = {"max_restarts": RESTARTS, "max_task_retries": RESTARTS, "scheduling_strategy": "SPREAD"}
        kind = ray.remote(Trainer).options(num_cpus=1, **options)
        self._actors = [kind.remote(spec.plain, asker) for _ in range(actors)]
        found = self._get([actor.ready.remote() for actor in self._actors])
        refused = sorted({each["refused"] for each in found if each["refused"]})
        if refused:
            self.close()
            raise SpecError([Problem("--on ray", reason) for reason in refused])
        for note in sorted({each["note"] for each in found if each["note"]}):
            warnings.warn(note, stacklevel=2)

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        check_groups(job.updates.tolist(), groups)
        began = time.perf_counter()
        idle = [row for row, n in enumerate(job.updates.tolist()) if n <= 0]
        parts = [(idle, finish(prepare(job_of_rows(job, idle))))] if idle or not groups else []
        self._local.trained(job.start.ids)
        w = self._ray.put(job.start.w.detach().cpu().numpy())
        calls, asked = [], []
        for actor, shared in zip(self._actors, share_out(job.updates.tolist(), groups, len(self._actors)), strict=True):
            rows = [row for group in shared for row in group]
            if rows:
                place = {row: i for i, row in enumerate(rows)}
                numbers = [[place[row] for row in group] for group in shared]
                calls.append(actor.train.remote(w, bare_train_job(job_of_rows(job, rows)), numbers))
                asked.append(rows)
        results = self._get(calls)
        parts += [(rows, trained) for rows, (trained, _) in zip(asked, results, strict=True)]
        self._note(time.perf_counter() - began, max((seconds for _, seconds in results), default=0.0))
        return put_together(parts)

    def evaluate(self, job: EvalJob) -> Scores:
        if models(job) > 1:
            return self._local.evaluate(job)
        plan, actors = plan_of(job, self._memo), len(self._actors)
        bare = self._ray.put(bare_eval_job(job))
        shares = [plan.parts[i::actors] for i in range(actors)]
        calls = [actor.score.remote(bare, parts) for actor, parts in zip(self._actors, shares, strict=True) if parts]
        answers = self._get(calls)
        results = [answers[i % actors][i // actors] for i in range(len(plan.parts))]
        return summed(job, plan, results)

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def _get(self, calls: Sequence[Any]) -> list[Any]:
        """Results of the calls; an actor that has died too often ends the run."""
        try:
            answers: list[Any] = self._ray.get(list(calls))
        except self._ray.exceptions.RayActorError as error:
            reason = f"an actor died, even after {RESTARTS} restarts ({_line(error)})"
            raise FedradioError(f"{reason}; `fedradio resume` continues from the last checkpoint") from error
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, FedradioError):
                raise error.cause from None
            raise
        return answers

    def _note(self, call_s: float, training_s: float) -> None:
        """Warn once where sending takes longer than training."""
        self.calls.append((training_s, call_s - training_s))
        if len(self.calls) == CALLS_BEFORE_WARNING and not self._warned:
            self._warned = True
            training, sending = (median(each) * 1e3 for each in zip(*self.calls, strict=True))
            if sending > training:
                costs = f"training takes {training:.0f} ms per call, sending {sending:.0f} ms"
                warnings.warn(f"{costs}: --on ray slows this run down", stacklevel=2)


def share_out(updates: Sequence[int], groups: Sequence[list[int]], actors: int) -> list[list[list[int]]]:
    """Groups of every actor: one after the other, those with most updates first, to the actor with least so far."""
    shared: list[list[list[int]]] = [[] for _ in range(actors)]
    load = [0] * actors
    for group in sorted(groups, key=lambda rows: -sum(updates[row] for row in rows)):
        least = load.index(min(load))
        shared[least].append(group)
        load[least] += sum(updates[row] for row in group)
    return shared


@contextmanager
def ray_backends(actors: int | None = None) -> Iterator[Callable[[Spec], Backend]]:
    """The function that makes the backend of a spec; its actors, and a Ray that was started here, end with the block.

    ``actors`` are by default as many as the cluster has processors.
    """
    with cluster(actors) as ray:
        if actors is not None and actors > cpus_of(ray):
            reason = f"the cluster has only {cpus_of(ray)} processors, and each actor needs one"
            raise SpecError(Problem("--actors", reason, f"use at most {cpus_of(ray)}", actors))
        made: list[RayBackend] = []

        def backend(spec: Spec) -> Backend:
            made.append(RayBackend(ray, spec, actors or max(1, cpus_of(ray))))
            return made[-1]

        try:
            yield backend
        finally:
            for each in made:
                each.close()


def _line(error: BaseException) -> str:
    """The first line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
