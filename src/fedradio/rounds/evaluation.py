"""What a round is judged by."""

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
    """Means over evaluation groups, and the accuracies of each where there are several (None without samples)."""

    metrics: dict[str, float] = field(default_factory=dict)
    groups: dict[str, list[float | None]] = field(default_factory=dict)


def evaluation(sim: Simulation, state: SimState) -> Evaluation:
    """Accuracy and loss on the held-out data, means over evaluation groups.

    The algorithm's first prediction is the run's ``accuracy``; further ones carry their name as a prefix. Where there
    are several groups (one per client), ``accuracy_spread`` is the standard deviation over them; likewise ``mixture``
    and ``mixture_spread`` of weights that are learned. With ``sim.eval_top`` above 1, ``top_m_accuracy`` counts
    the label among the ``m`` likeliest classes. The global model takes norm layers' numbers from the norms channel, or
    where these stay with the clients their mean. Control variates have their own.
    """
    shared = {name: vector.unsqueeze(0) for name, vector in state.memory.shared.items()}
    local = shared.pop(NORMS, None)
    if LOCAL in state.memory.client:
        local = state.memory.client[LOCAL].mean(dim=0, keepdim=True)
    found = Evaluation()
    test = sim.stream.test()
    for number, (name, ensemble) in enumerate(sim.algorithm.predict(shared, state.memory.client).items()):
        prefix = "" if number == 0 else f"{name}_"
        if ensemble.learned:
            ensemble, b = _learned(sim, ensemble)
            found.metrics[f"{prefix}mixture"] = float(b.mean())
            found.metrics[f"{prefix}mixture_spread"] = float(b.std(correction=0))
        scores = evaluate(sim.model, ensemble, test, local, sim.workers, top=sim.eval_top)
        seen = scores.group_top[scores.group_top.isfinite().all(dim=1)]  # groups with samples
        spread = seen.std(dim=0, unbiased=False).tolist()
        for m, (mean, deviation) in enumerate(zip(scores.top.tolist(), spread, strict=True), start=1):
            top = f"{prefix}accuracy" if m == 1 else f"{prefix}top_{m}_accuracy"
            found.metrics[top] = mean
            if test.groups > 1:
                found.metrics[f"{top}_spread"] = deviation
        if len(scores.group_accuracy) > 1:
            found.groups[f"{prefix}accuracy"] = [
                round(value, 6) if math.isfinite(value) else None for value in scores.group_accuracy.tolist()
            ]
        found.metrics[f"{prefix}loss"] = scores.loss
    found.metrics.update(_variates(sim, state) | sim.stream.reference(state.stream))
    return found


def _learned(sim: Simulation, ensemble: Ensemble) -> tuple[Ensemble, Tensor]:
    """The prediction with every client's own weights, and those of its first member ``[C]``."""
    validation = sim.stream.validation()
    assert validation is not None  # refused before the run
    b = learned_weights(sim.model, ensemble, validation, sim.workers)
    return replace(ensemble, weight=(b, 1.0 - b)), b


def _variates(sim: Simulation, state: SimState) -> dict[str, float]:
    """Where there are control variates: ``variate_norm`` is ``|c|``, and ``variate_error`` how far the invariant
    ``c = sum_i w_i c_i`` is off, ``|c - sum_i w_i c_i| / |c|``: 0 but for rounding, unless the air adds its noise."""
    if "c" not in state.memory.shared or "c" not in state.memory.client:
        return {}
    c, clients = state.memory.shared["c"], sim.topology.clients
    known = {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, clients)
    share = (mass / mass.sum()).to(c)
    norm, gap = float(c.norm()), float((c - share @ state.memory.client["c"]).norm())
    return {"variate_norm": norm, "variate_error": gap / norm if norm > 0 else gap}


def final_model(sim: Simulation, state: SimState) -> dict[str, Tensor]:
    """The global model's tensors; norm layers' numbers are those of the side channel, or the clients' mean."""
    model, memory = sim.model, state.memory
    found = model.shared.views(memory.shared["w"])
    norms = memory.shared.get(NORMS)
    if LOCAL in memory.client:
        norms = memory.client[LOCAL].mean(dim=0)
    if norms is not None:
        found |= model.local.views(norms[: model.local.size])
        found |= model.buffers.views(norms[model.local.size :])
    return found
