"""What a round is judged by."""

from __future__ import annotations

from fedradio.core.contracts import SimState
from fedradio.engine.evaluate import evaluate
from fedradio.rounds.clients import LOCAL
from fedradio.rounds.simulation import Simulation


def metrics(sim: Simulation, state: SimState) -> dict[str, float]:
    """Accuracy and loss on the held-out data, means over evaluation groups.

    The algorithm's first prediction is the run's ``accuracy``; further ones carry their name as a prefix. Where there
    are several groups (one per client), ``accuracy_spread`` is the standard deviation over them. Norm layers' local
    parts of the global model are the mean over clients.
    """
    shared = {name: vector.unsqueeze(0) for name, vector in state.memory.shared.items()}
    local = state.memory.client.get(LOCAL)
    if local is not None:
        local = local.mean(dim=0, keepdim=True)
    found: dict[str, float] = {}
    test = sim.stream.test()
    for number, (name, ensemble) in enumerate(sim.algorithm.predict(shared, state.memory.client).items()):
        prefix = "" if number == 0 else f"{name}_"
        scores = evaluate(sim.model, ensemble, test, local, sim.workers)
        found[f"{prefix}accuracy"] = scores.accuracy
        found[f"{prefix}loss"] = scores.loss
        if test.groups > 1:
            found[f"{prefix}accuracy_spread"] = float(scores.group_accuracy.double().std(unbiased=False))
    return found | sim.stream.reference(state.stream)
