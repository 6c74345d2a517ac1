"""Estimates how long a run will take on this machine, from a few real updates and one real evaluation."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from fedradio.core.contracts import Clock
from fedradio.core.errors import DivergenceError
from fedradio.rounds import cohort as clients
from fedradio.rounds.evaluation import evaluation
from fedradio.rounds.exchange import plan_exchange
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import open_round

TRIAL = 16
"""Clients that train in the trial: enough to measure their speed, few enough to need little memory."""


def estimate_s(sim: Simulation, rounds: int, eval_every: int) -> float:
    """Estimated wall seconds of a run: the first allocation's updates times the time of one, plus the evaluations.

    0 if the run diverges within the trial.
    """
    try:
        return _estimate_s(sim, rounds, eval_every)
    except DivergenceError:
        return 0.0


def _estimate_s(sim: Simulation, rounds: int, eval_every: int) -> float:
    state = begin(sim)
    tiers = open_round(sim, state)
    alloc = plan_exchange(sim, tiers, 0, Clock(0)).alloc
    updates = int(alloc.steps.sum()) * sim.rule.updates_per_step
    few = alloc.active & (alloc.active.cumsum(0) <= TRIAL)
    trial = replace(alloc, active=few, steps=torch.where(few, alloc.steps.clamp(max=2), 0))
    per_update = 0.0
    for _ in range(2 if updates else 0):  # the first pass warms up
        began = time.perf_counter()
        clients.train(sim, tiers.shared[0], tiers.norms[0], tiers.client, tiers.stream, trial, Clock(0))
        per_update = (time.perf_counter() - began) / max(1, int(trial.steps.sum()) * sim.rule.updates_per_step)
    began = time.perf_counter()
    evaluation(sim, replace(state, stream=tiers.stream))
    per_evaluation = time.perf_counter() - began
    exchanges = int(torch.tensor([hop.period for hop in sim.hops]).prod())
    return rounds * exchanges * updates * per_update + rounds / eval_every * per_evaluation
