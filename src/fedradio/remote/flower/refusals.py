"""What cannot be federated, and why: refused before anything is started."""

from __future__ import annotations

from typing import Any

import torch

from fedradio.core.contracts import Pools
from fedradio.core.errors import Problem, SpecError
from fedradio.remote.flower.worlds import is_own, refuse_files
from fedradio.rounds.simulation import Simulation
from fedradio.spec.spec import Spec


def refuse_spec(spec: Spec) -> None:
    """Refuse a spec whose network or data no federation has; all problems at once."""
    plain, problems = spec.plain, list[Problem]()
    if len(plain["hops"]) > 1:
        reason = "a federation has no edges: merging on intermediate machines is not supported"
        problems.append(Problem("hops", reason, "use one hop and topology=flat", len(plain["hops"])))
    if plain["algorithm"]["kind"] == "central":
        reason = "central training has no clients to distribute"
        problems.append(Problem("algorithm", reason, "use fedradio run, or another algorithm", "central"))
    if plain.get("cache") is not None:
        reason = "caches serve requests of simulated clients, but real devices make none"
        problems.append(Problem("cache", reason, "leave cache out"))
    try:
        refuse_files(spec)
    except SpecError as error:
        problems += error.problems
    problems += _own_problems(spec) if is_own(spec) else []
    if problems:
        raise SpecError(problems)


def _own_problems(spec: Spec) -> list[Problem]:
    """Keys about samples that the server does not have."""
    data, own = spec.plain["data"], "the samples are on the devices"
    neutral: dict[str, Any] = {"partition": None, "test": "source", "unlabelled": 0.0, "held_out": 0.0}
    problems = [
        Problem(f"data.{key}", f"{own}, so the server cannot split them", f"leave data.{key} out", data[key])
        for key, value in neutral.items()
        if data[key] != value
    ]
    if data["stream"]["kind"] != "static":
        reason = f"{own}, so the server cannot control their arrival"
        problems.append(Problem("data.stream", reason, "data.stream=static", data["stream"]["kind"]))
    return problems


def refuse_simulation(sim: Simulation, own: bool) -> None:
    """Refuse parts that only a simulation can have, where clients and receiver are in one process."""
    hop, problems = sim.hops[0], list[Problem]()
    if isinstance(sim.algorithm, Pools):
        problems.append(Problem("algorithm", "it pools all data in one place", "use another algorithm"))
    if "individual" not in hop.link.offers:
        reason = "over-the-air aggregation needs a real radio channel: devices reply one by one"
        problems.append(Problem("hops.0.link", reason, "use digital or ideal"))
    if hop.gather.carries:
        reason = "devices work in rounds: a late reply is lost, and never merged later"
        problems.append(Problem("hops.0.gather", reason, "hops.0.gather=all"))
    if sim.precision != "float32":
        reason = "devices and server must compute in the same numbers, and mixed precision depends on the processor"
        problems.append(Problem("precision", reason, "precision=float32", sim.precision))
    if sim.model.personal:
        reason = "the server evaluates one model, but some parameters are each client's own"
        problems.append(Problem("personal", reason, "leave personal out, or simulate", sorted(sim.model.personal)))
    elif sim.model.local.size + sim.model.buffers.size and sim.model.norms == "local":
        reason = "norm layers stay on the devices, so the server has no complete model to evaluate"
        problems.append(
            Problem("model.norms", reason, "set model.norms=shared, or use a model without norm layers", "local")
        )
    if _predicts_with_clients(sim):
        reason = "it predicts with models that stay on the clients and that the server never sees"
        problems.append(Problem("algorithm", reason, "use an algorithm whose model is on the server"))
    for i, transform in enumerate(hop.transforms):
        if not transform.alone:
            reason = "a device cannot code its payload alone: this transform needs the other payloads"
            problems.append(Problem(f"hops.0.transforms.{i}", reason, "leave it out"))
    if own:
        problems += _unrevealed_problems(sim)
    if problems:
        raise SpecError(problems)


def _predicts_with_clients(sim: Simulation) -> bool:
    """Whether predictions need client slots, tried on shapes without numbers."""
    w = torch.empty(sim.model.shared.size, device="meta")
    memory = sim.algorithm.init(w, sim.topology.clients, sim.topology.receivers(0))
    try:
        sim.algorithm.predict({name: vector.unsqueeze(0) for name, vector in memory.shared.items()}, {})
    except KeyError:
        return True
    return False


def _unrevealed_problems(sim: Simulation) -> list[Problem]:
    """What the server would have to know of samples that it has not, and that the algorithm does not reveal."""
    policy, revealed = sim.hops[0].policy, sim.algorithm.reveals
    effort = getattr(policy, "effort", None)
    problems = []
    if effort is not None and effort.steps is None and "samples" not in revealed:
        reason = "epochs depend on sample counts, which this algorithm does not reveal to the server"
        problems.append(Problem("hops.0.policy.epochs", reason, "hops.0.policy.steps=10"))
    if hidden := sorted(policy.reads & {"samples", "labelled", "label_counts", "epoch_steps"} - revealed):
        reason = f"it reads {', '.join(hidden)}, which this algorithm does not reveal to the server"
        problems.append(Problem("hops.0.policy", reason, "use fixed or sampling, with steps"))
    return problems
