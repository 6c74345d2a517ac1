"""Caches that cannot be served: each problem with its path, the reason and a remedy."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fedradio.core.contracts import Cache, CacheView, Clock, Foresight, RequestStream
from fedradio.core.errors import Problem, SpecError
from fedradio.placements.service import scores_of

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Simulation

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""What a placement may be called: it stands in tables and records."""


def cache_problems(sim: Simulation) -> list[Problem]:
    """All problems of the caches of a simulation."""
    cache = sim.cache
    if cache is None:
        return []
    if sim.pooled:
        return [Problem("cache", "central training has no edges", "leave cache out, or use a federated algorithm")]
    problems = _request_problems(sim) + _size_problems(cache, sim.stream.classes) + _name_problems(cache)
    return problems or _score_problems(sim, cache)


def _request_problems(sim: Simulation) -> list[Problem]:
    """Data of which nothing is requested."""
    stream = sim.stream
    if not isinstance(stream, RequestStream) or stream.law is None:
        return [Problem("cache", "this source has no requests", "set data.source=videos or video_files, or cache=null")]
    chances = [stream.chances_at(Clock(t, 0, t)) for t in (0, 1)]
    if not any(bool((each > 0).any()) for each in chances) or not bool((stream.request_rate > 0).any()):
        reason = "no requests are made during training"
        return [Problem("cache", reason, "set data.stream=growing or fifo, with slots and activity above 0")]
    return []


def _size_problems(cache: Cache, files: int) -> list[Problem]:
    """Capacities and sizes that do not fit the catalogue."""
    problems = []
    if not cache.capacity or min(cache.capacity) < 1 or max(cache.capacity) > files:
        reason = f"the catalogue has {files} files"
        problems.append(Problem("cache.capacity", reason, f"from 1 to {files}", list(cache.capacity)))
    if cache.sharing == "top" and not 1 <= cache.top <= files:
        reason = f"the catalogue has {files} files"
        problems.append(Problem("cache.top", reason, f"from 1 to {files}", cache.top))
    if len(set(cache.capacity)) < len(cache.capacity):
        reason = "a capacity is listed twice"
        problems.append(Problem("cache.capacity", reason, "list each once", list(cache.capacity)))
    sizes = torch.as_tensor(cache.file_bits)
    if sizes.dim() > 1 or (sizes.dim() == 1 and len(sizes) != files) or not bool((sizes > 0).all()):
        reason = f"must be the sizes of the catalogue's {files} files, each above 0"
        problems.append(Problem("cache.file_bits", reason, "give one number, or one per file"))
    return problems


def _name_problems(cache: Cache) -> list[Problem]:
    """Names of placements by which they cannot be told apart."""
    if not cache.placements:
        return [Problem("cache.placements", "no placement is given", "such as [predicted, cell_popular]")]
    problems, count = [], Counter(placement.name for placement in cache.placements)
    for number, placement in enumerate(cache.placements):
        path = f"cache.placements.{number}"
        if count[placement.name] > 1:
            remedy = f"give each its own name: {{kind: ..., name: {placement.name}_{number}}}"
            problems.append(Problem(path, f"several placements are named {placement.name}", remedy))
        if not NAME.fullmatch(placement.name):
            remedy = "use letters, digits, dots, dashes and underscores, at most 40 characters"
            problems.append(Problem(f"{path}.name", "not a valid name", remedy, placement.name))
    return problems


@dataclass(frozen=True)
class Uniform:
    """Forecasts that know nothing: every file is as likely as any other."""

    clients: int
    files: int

    def __call__(self, by: Foresight) -> Tensor:
        """Probabilities ``[C, N]``."""
        return torch.full((self.clients, self.files), 1 / self.files, dtype=torch.float64)


def _score_problems(sim: Simulation, cache: Cache) -> list[Problem]:
    """Trial of every placement on an edge that knows nothing yet."""
    clients, edges, files = sim.topology.clients, sim.topology.receivers(0), sim.stream.classes
    view = CacheView(
        parent=sim.topology.parents[0],
        receivers=edges,
        rate=torch.full((clients,), 0.5, dtype=torch.float64),
        activity=torch.full((clients,), 0.5, dtype=torch.float64),
        counts=torch.zeros(edges, files, dtype=torch.int64),
        used=torch.full((edges, files), -1, dtype=torch.int64),
        recent=torch.full((edges, cache.window), -1, dtype=torch.int64),
        foresee=Uniform(clients, files),
        rng=sim.rng.child("trial"),
    )
    problems: list[Problem] = []
    for number, placement in enumerate(cache.placements):
        path = f"cache.placements.{number}"
        try:
            scores_of(placement, view, files)
        except SpecError as error:
            problems += [Problem(path, each.reason, each.remedy) for each in error.problems]
        if placement.move_cost is not None and not placement.move_cost >= 0:
            reason = "the cost of prefetching must be at least 0"
            problems.append(Problem(f"{path}.move_cost", reason, "use 0 or more, or null", placement.move_cost))
    return problems
