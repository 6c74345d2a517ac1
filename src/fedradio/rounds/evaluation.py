"""Evaluation of a state: accuracies, losses and control-variate diagnostics on the test data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from torch import Tensor

from fedradio.core.contracts import Ensemble, SimState
from fedradio.engine.evaluate import evaluate
from fedradio.engine.mixture import learned_weights
from fedradio.rounds.cohort import LOCAL
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import NORMS


@dataclass(frozen=True)
class Evaluation:
    """Metrics, means over evaluation groups; ``groups``: accuracies of each, if several (None: no samples)."""

    metrics: dict[str, float] = field(default_factory=dict)
    groups: dict[str, list[float | None]] = field(default_factory=dict)


def evaluation(sim: Simulation, state: SimState) -> Evaluation:
    """Accuracy and loss on the test data, means over evaluation groups.

    The algorithm's first predictor gives the run's ``accuracy``; further ones carry their name as a prefix. With
    several groups (one per client), ``accuracy_spread`` is the standard deviation over them; likewise ``mixture`` and
    ``mixture_spread`` of learned weights. With ``sim.eval_top`` above 1, ``top_m_accuracy`` counts the label among the
    ``m`` likeliest classes. The global model has the averaged norm layers or, where these stay with the clients, their
    mean. Control variates add metrics of their own.
    """
    shared = {name: vector.unsqueeze(0) for name, vector in state.memory.shared.items()}
    local = shared.pop(NORMS, None)
    if LOCAL in state.memory.client:
        local = state.memory.client[LOCAL].mean(dim=0, keepdim=True)
    result = Evaluation()
    test = sim.stream.test()
    for number, (name, ensemble) in enumerate(sim.algorithm.predict(shared, state.memory.client).items()):
        prefix = "" if number == 0 else f"{name}_"
        if ensemble.learned:
            ensemble, b = _learned(sim, ensemble)
            result.metrics[f"{prefix}mixture"] = float(b.mean())
            result.metrics[f"{prefix}mixture_spread"] = float(b.std(correction=0))
        scores = evaluate(sim.model, ensemble, test, local, sim.workers, top=sim.eval_top)
        seen = scores.group_top[scores.group_top.isfinite().all(dim=1)]  # groups with samples
        spread = seen.std(dim=0, unbiased=False).tolist()
        for m, (mean, deviation) in enumerate(zip(scores.top.tolist(), spread, strict=True), start=1):
            top = f"{prefix}accuracy" if m == 1 else f"{prefix}top_{m}_accuracy"
            result.metrics[top] = mean
            if test.groups > 1:
                result.metrics[f"{top}_spread"] = deviation
        if len(scores.group_accuracy) > 1:
            result.groups[f"{prefix}accuracy"] = [
                round(value, 6) if math.isfinite(value) else None for value in scores.group_accuracy.tolist()
            ]
        result.metrics[f"{prefix}loss"] = scores.loss
    result.metrics.update(_variates(sim, state) | sim.stream.reference(state.stream))
    return result


def _learned(sim: Simulation, ensemble: Ensemble) -> tuple[Ensemble, Tensor]:
    """The ensemble with fitted weights of every client, and those of its first member ``[C]``."""
    validation = sim.stream.validation()
    assert validation is not None  # refused before the run
    b = learned_weights(sim.model, ensemble, validation, sim.workers)
    return replace(ensemble, weight=(b, 1.0 - b)), b


def _variates(sim: Simulation, state: SimState) -> dict[str, float]:
    """Diagnostics of control variates: ``variate_norm`` is ``|c|``, ``variate_error`` the violation of their invariant,
    ``|c - sum_i w_i c_i| / |c|``: 0 but for rounding, unless the air adds noise. Empty without variates."""
    if "c" not in state.memory.shared or "c" not in state.memory.client:
        return {}
    c, clients = state.memory.shared["c"], sim.topology.clients
    known = {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, clients)
    share = (mass / mass.sum()).to(c)
    norm, gap = float(c.norm()), float((c - share @ state.memory.client["c"]).norm())
    return {"variate_norm": norm, "variate_error": gap / norm if norm > 0 else gap}


def final_model(sim: Simulation, state: SimState) -> dict[str, Tensor]:
    """Tensors of the global model by name; norm layers are the averaged ones, or the clients' mean."""
    model, memory = sim.model, state.memory
    tensors = model.shared.views(memory.shared["w"])
    norms = memory.shared.get(NORMS)
    if LOCAL in memory.client:
        norms = memory.client[LOCAL].mean(dim=0)
    if norms is not None:
        tensors |= model.local.views(norms[: model.local.size])
        tensors |= model.buffers.views(norms[model.local.size :])
    return tensors
