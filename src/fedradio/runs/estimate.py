"""Estimates how long a run will take on this machine: as such runs took before, else from a few real updates."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from fedradio.core.errors import DivergenceError
from fedradio.engine.threads import cores
from fedradio.rounds.cohort import train
from fedradio.rounds.evaluation import evaluation
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import start_tiers
from fedradio.runs.speed import measured, speed_key
from fedradio.spec.spec import Spec

TRIAL = 16
"""Clients that train in the trial: enough to measure their speed, few enough to need little memory."""


def estimate_s(sim: Simulation, spec: Spec, rounds: int) -> float:
    """Estimated wall seconds of the remaining rounds of a run.

    If rounds of this spec were measured on this machine: their CPU seconds, shared by the threads of the run, at most
    one on each core. Otherwise the first allocation's updates times the time of one, plus the evaluations. 0 if the run
    diverges within the trial, and for clients that work somewhere else.
    """
    if sim.clients is not None:
        return 0.0
    speed = measured().rounds.get(speed_key(spec))
    if speed is not None and sim.device.type == "cpu":
        return speed.run_s(rounds, spec.eval_every) / min(cores(), sim.workers)
    try:
        return _estimate_s(sim, rounds, spec.eval_every)
    except DivergenceError:
        return 0.0


def _estimate_s(sim: Simulation, rounds: int, eval_every: int) -> float:
    state = begin(sim)
    tiers = start_tiers(sim.topology, state.memory)
    planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, 0))
    alloc = planned.x.alloc
    updates = int(alloc.steps.sum()) * sim.rule.updates_per_step
    few = alloc.active & (alloc.active.cumsum(0) <= TRIAL)
    steps = torch.where(few, alloc.steps.clamp(max=2), 0)
    trial = replace(planned.x, alloc=replace(alloc, active=few, steps=steps))
    per_update = 0.0
    for _ in range(2 if updates else 0):  # the first pass warms up
        began = time.perf_counter()
        train(sim, state, tiers[0], trial)
        per_update = (time.perf_counter() - began) / max(1, int(steps.sum()) * sim.rule.updates_per_step)
    began = time.perf_counter()
    evaluation(sim, state)
    per_evaluation = time.perf_counter() - began
    return rounds * sim.edge_rounds * updates * per_update + rounds / eval_every * per_evaluation
