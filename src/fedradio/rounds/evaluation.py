"""Evaluation of a state: accuracies and losses on the test data, and metrics of the algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from torch import Tensor

from fedradio.algorithms.mixture_weights import learned_weights
from fedradio.algorithms.variates import variate_measures
from fedradio.core.contracts import MODEL, VARIATE, Ensemble, EvalJob, Scores, SimState
from fedradio.rounds.norm_layers import LOCAL, global_norms, without_norms
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.simulation import Simulation


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
    ``m`` likeliest classes; ``sim.metrics`` add their own scores, and so do control variates. The global model has the
    averaged norm layers or, where these stay with the clients, their mean; personal parameters are each client's. Of
    predicted values ``rmse`` takes the place of the accuracy.
    """
    shared = {name: vector.unsqueeze(0) for name, vector in without_norms(state.memory.shared).items()}
    local = _local_parts(sim, state)
    result = Evaluation()
    test = sim.stream.test()
    for number, (name, ensemble) in enumerate(sim.algorithm.predict(shared, state.memory.client).items()):
        prefix = "" if number == 0 else f"{name}_"
        if ensemble.learned:
            ensemble, b = fitted(sim, ensemble)
            result.metrics[f"{prefix}mixture"] = float(b.mean())
            result.metrics[f"{prefix}mixture_spread"] = float(b.std(correction=0))
        scores = sim.backend.evaluate(
            EvalJob(sim.model, ensemble, test, local, sim.eval_top, sim.metrics, sim.stream.target)
        )
        if scores.group_rmse is not None:
            values = _value_scores(prefix, scores, test.groups)
            result.metrics.update(values.metrics)
            result.groups.update(values.groups)
            continue
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
        result.metrics.update({f"{prefix}{score}": value for score, value in scores.metrics.items()})
    result.metrics.update(_measures(sim, state) | sim.stream.reference(recall(state.parts, STREAM)))
    return result


def _local_parts(sim: Simulation, state: SimState) -> Tensor | None:
    """Local parts ``[1 or C, d_local]`` of the models that predict: each client's own where some parameters are
    personal."""
    if sim.model.personal:
        return state.memory.client[LOCAL]
    norms = global_norms(state.memory)
    return None if norms is None else norms.unsqueeze(0)


def _value_scores(prefix: str, scores: Scores, groups: int) -> Evaluation:
    """Scores of predicted values: the root mean square error, mean over groups, and the mean squared error."""
    assert scores.group_rmse is not None
    known = scores.group_rmse[scores.group_rmse.isfinite()]
    spread = {f"{prefix}rmse_spread": float(known.std(unbiased=False))} if groups > 1 else {}
    each = [round(value, 6) if math.isfinite(value) else None for value in scores.group_rmse.tolist()]
    further = {f"{prefix}{score}": value for score, value in scores.metrics.items()}
    metrics = {f"{prefix}rmse": float(known.mean())} | spread | {f"{prefix}loss": scores.loss} | further
    return Evaluation(metrics, {f"{prefix}rmse": each} if len(each) > 1 else {})


def fitted(sim: Simulation, ensemble: Ensemble) -> tuple[Ensemble, Tensor]:
    """The ensemble with fitted weights of every client, and those of its first member ``[C]``."""
    validation = sim.stream.validation()
    assert validation is not None  # refused before the run
    b = learned_weights(sim.model, ensemble, validation, sim.workers)
    return replace(ensemble, weight=(b, 1.0 - b)), b


def _measures(sim: Simulation, state: SimState) -> dict[str, float]:
    """Metrics of control variates, where receivers and clients have some, and the clients' are here."""
    if sim.clients is not None or VARIATE not in state.memory.shared.keys() & state.memory.client.keys():
        return {}
    known = {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}
    return variate_measures(state.memory, sim.algorithm.importance(known, sim.topology.clients))


def final_model(sim: Simulation, state: SimState) -> dict[str, Tensor]:
    """Tensors of the global model by name; norm layers are the averaged ones, or the clients' mean."""
    model, memory = sim.model, state.memory
    tensors = model.shared.views(memory.shared[MODEL])
    norms = global_norms(memory)
    if norms is not None:
        tensors |= model.local.views(norms[: model.local.size])
        tensors |= model.buffers.views(norms[model.local.size :])
    return tensors
