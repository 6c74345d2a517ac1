"""Compatibility of parts: combinations that cannot run, each with its path, the reason and a remedy."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor

from fedradio.algorithms.fedavg import is_plain_averaging
from fedradio.algorithms.ledger import published_names, start_memory
from fedradio.core.contracts import (
    SUPERPOSITION,
    VARIATE,
    Algorithm,
    Batch,
    Ensemble,
    Fading,
    Hop,
    Link,
    Loss,
    Memory,
    Outputs,
    Piece,
    SingleHop,
    Work,
)
from fedradio.core.errors import Problem, SpecError
from fedradio.core.mapped import LARGE
from fedradio.core.part_files import reason_in
from fedradio.core.registry import parts
from fedradio.core.units import show
from fedradio.engine.layers import dense_layers, head_of
from fedradio.engine.precision import has_bf16_units
from fedradio.models.model import FlatModel, as_input
from fedradio.models.own import sample_problems
from fedradio.network.trace import Trace
from fedradio.rounds.cache_rules import cache_problems
from fedradio.rounds.coding import coding_problems, coding_warnings
from fedradio.rounds.label_drift import START_COUNTS, START_SEEN
from fedradio.rounds.norm_layers import sends_norms
from fedradio.rounds.notes import DATA_SIGNALS, loss_note_problems, note_problems, signal_problems

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Simulation


PIECES = frozenset(get_args(Piece))
"""Pieces of a hop that a policy or a link may need."""

TRIAL_INPUTS, LARGE_INPUTS = 64, 20.0
"""Test inputs that are looked at, and the size above which they are worth a warning."""

LASTING: dict[Fading, str] = {
    "none": "absent",
    "block": "constant for a whole exchange",
    "fresh": "drawn afresh for every symbol",
}
"""Small-scale fading in words."""

OFFERED = {"individual": "individual payloads", "rate": "a rate per sender", SUPERPOSITION: "superposition in the air"}
"""Traits of links in words; the others go by their names."""


def problems_of(sim: Simulation) -> list[Problem]:
    """All problems of this combination of parts."""
    problems = _shape_problems(sim)
    if len(sim.hops) == sim.topology.hops:
        for h in range(len(sim.hops)):
            problems += _hop_problems(sim, h) + note_problems(sim, h)
        problems += _forwarding_problems(sim) if sim.topology.forwards else []
    problems += signal_problems(sim)
    return problems + _learning_problems(sim) + _metric_problems(sim) + _memory_problems(sim) + cache_problems(sim)


def warnings_of(sim: Simulation) -> list[str]:
    """Warnings about combinations that can run but may not be intended."""
    warnings = []
    loss = sim.rule.loss
    if loss is not None and loss.unlabelled_batch > 0:
        stats = sim.stream.stats(sim.stream.start())
        if bool((stats["samples"] == stats["labelled"]).all()) and not loss.stand_in:
            warnings.append("data: every sample is labelled, so the terms for unlabelled samples have no effect")
        elif bool((stats["samples"] > 0).all() and (stats["labelled"] == 0).all()):
            warnings.append(
                "data: no client has a labelled sample; pseudo-labels only repeat the model's own predictions"
            )
        elif loss.warning:
            warnings.append(loss.warning)
    for h, hop in enumerate(sim.hops):
        if hop.deadline_s is not None and not hop.policy.meets_deadline:
            warnings.append(f"hops.{h}: the policy ignores the deadline; late payloads are lost")
        if SUPERPOSITION in hop.link.offers and VARIATE in _initial_memory(sim).shared:
            warnings.append(f"hops.{h}: control variates over the air are noisy, and no longer average to zero")
    for h in range(len(sim.hops)):
        warnings += coding_warnings(sim, h)
    return warnings + _precision_warnings(sim) + _scale_warnings(sim)


def _precision_warnings(sim: Simulation) -> list[str]:
    """Warnings where mixed precision has no effect, or costs time."""
    if sim.precision == "float32":
        return []
    if dense_layers(sim.model) is not None:
        return ["precision: stacks of linear layers are always trained in float32, so bf16 has no effect on this model"]
    if not has_bf16_units(sim.device):
        return ["precision: no bf16 units were found on this machine, so bf16 will be slower than float32"]
    return []


def _scale_warnings(sim: Simulation) -> list[str]:
    """A warning where the root mean square of some test inputs is far above 1, so that the data are not overlooked."""
    test = sim.stream.test()
    x, _ = test.fetch(test.index[:TRIAL_INPUTS])
    size = float(x.double().square().mean().sqrt()) if x.is_floating_point() else 0.0
    if size <= LARGE_INPUTS:
        return []
    return [f"data: the inputs have a magnitude of about {size:.3g}; training works best near 1 (standardise them)"]


def _shape_problems(sim: Simulation) -> list[Problem]:
    problems = []
    if len(sim.hops) != sim.topology.hops:
        reason = f"the topology has {sim.topology.hops} hop(s)"
        problems.append(
            Problem(
                "hops", reason, "give one entry per hop, such as hops=[{policy: fixed}] for a single hop", len(sim.hops)
            )
        )
    if sim.stream.clients != sim.topology.clients:
        reason = f"the data is split over {sim.stream.clients} clients, but the topology has {sim.topology.clients}"
        problems.append(Problem("data", reason, "use the same number"))
    if sim.model.shape != sim.stream.shape:
        reason = f"built for inputs of shape {sim.model.shape}, but the data has {sim.stream.shape}"
        problems.append(Problem("model", reason, "build the model for the shape of the data"))
    else:
        problems += _sample_problems(sim)
    if sim.model.classes < sim.stream.classes:
        reason = f"has {sim.model.classes} outputs, but the data has {sim.stream.classes} classes"
        problems.append(Problem("model", reason, "build the model for the number of classes of the data"))
    if not 1 <= sim.eval_top <= sim.stream.classes:
        reason = f"the data has {sim.stream.classes} classes"
        problems.append(Problem("eval_top", reason, f"from 1 to {sim.stream.classes}", sim.eval_top))
    return problems


def _sample_problems(sim: Simulation) -> list[Problem]:
    """Trial of the model on two samples: ids are not images, whatever their shape; a module of the user's own is also
    trained on them."""
    test, model = sim.stream.test(), sim.model
    x, y = test.fetch(test.index[:2])
    try:
        row = model.init(sim.rng.child("trial")).to(x.device)
        if isinstance(model, FlatModel) and model.own:
            own = as_input(x, row.dtype, channels_last=False)
            if problems := sample_problems(model.module, model.views(row), own, y, model.classes):
                return problems
        model.apply(row, x)
    except SpecError as error:
        return list(error.problems)
    except RuntimeError:
        kind = "numbers" if x.is_floating_point() else "whole numbers (ids)"
        return [
            Problem("model", f"cannot take these samples, {kind} of shape {tuple(x.shape[1:])}", "use another kind")
        ]
    return []


def _hop_problems(sim: Simulation, h: int) -> list[Problem]:
    hop, last = sim.hops[h], len(sim.hops) - 1
    problems = _policy_problems(sim, h)
    missing = sim.algorithm.needs - hop.link.offers
    if missing:
        reason = f"the algorithm needs {_needed(missing)}, which this link does not offer"
        problems.append(Problem(f"hops.{h}.link", reason, f"use a link that does: {_links_with(sim.algorithm.needs)}"))
    if hop.channel is not None and hop.channel.fading not in hop.link.takes:
        fading = hop.channel.fading
        reason = (
            f"its small-scale fading is {LASTING[fading]} ({fading}), but this link supports {_names(hop.link.takes)}"
        )
        others = _links_where(lambda link: fading in link.takes)
        problems.append(Problem(f"hops.{h}.channel", reason, f"use fading: none, or a link that supports it: {others}"))
    problems += _channel_problems(sim, h)
    problems += coding_problems(sim, h) + _gather_problems(sim, h)
    if h == last and hop.period != 1:
        reason = "the last hop runs once per round"
        problems.append(Problem(f"hops.{h}.period", reason, "set it on a lower hop, or increase rounds", hop.period))
    if hop.period < 1:
        problems.append(Problem(f"hops.{h}.period", "a hop runs at least once", "use 1 or more", hop.period))
    if hop.deadline_s is not None and sim.hops[0].fleet is None:
        reason = "without a fleet nothing takes any time, so a deadline is meaningless"
        problems.append(Problem(f"hops.{h}.deadline_s", reason, "set hops.0.fleet"))
    problems += _outer_problems(sim, h) if h > 0 else []
    if hop.fleet is not None and len(hop.fleet.f_max_hz) != sim.topology.senders(h):
        reason = f"describes {len(hop.fleet.f_max_hz)} devices, but the hop has {sim.topology.senders(h)} senders"
        problems.append(Problem(f"hops.{h}.fleet", reason, "describe one device per sender"))
    if h == 0 and sim.waits == "deadline" and hop.deadline_s is None:
        problems.append(Problem("clock", "the clock 'deadline' needs a deadline", "set hops.0.deadline_s", sim.waits))
    return problems


def _gather_problems(sim: Simulation, h: int) -> list[Problem]:
    """Problems of updates that stay in flight after an exchange: single payloads must mean the same later."""
    hop, path = sim.hops[h], f"hops.{h}.gather"
    if not hop.gather.carries:
        return []
    at_once = f"set {path}=all"
    found = [
        (len(sim.hops) > 1, "updates can stay in flight in a network with one hop only", at_once),
        (hop.fleet is None, "without a fleet nobody knows when an update arrives", "set hops.0.fleet"),
        (
            "individual" not in hop.link.offers,
            "this link delivers all payloads of an exchange at once",
            "use digital or ideal",
        ),
        (
            bool(hop.transforms),
            "an update is decoded in the exchange that it was coded in",
            "leave the transforms out",
        ),
        (
            sim.algorithm.ledger is not None,
            "the algorithm already merges what it remembers of absent clients",
            at_once,
        ),
        (
            sim.waits == "deadline",
            "an exchange lasts until it merges, not until the deadline",
            "set clock=slowest",
        ),
        (
            hop.deadline_s is not None,
            "what is late at the deadline is lost, but here it stays in flight",
            "leave hops.0.deadline_s out",
        ),
        (
            isinstance(hop.channel, Trace),
            "a trace has gains of exchanges at fixed times, but here an exchange lasts until it merges",
            "use another channel",
        ),
        (
            hop.fleet is not None and hop.fleet.idle_w > 0,
            "devices that wait draw power until the exchange ends, but an update in flight outlasts it",
            "set hops.0.fleet.idle_w=0",
        ),
        (
            sends_norms(sim),
            "receivers have the norm layers that were sent last, and late ones would undo newer ones",
            "set model.norms=local",
        ),
        (
            sim.cache is not None,
            "the accounts of caches count that learning is merged in the exchange in which it is sent",
            f"{at_once}, or leave the cache out",
        ),
    ]
    return [Problem(path, reason, remedy) for refused, reason, remedy in found if refused]


def _channel_problems(sim: Simulation, h: int) -> list[Problem]:
    """Trial realisation of the channel between the nodes' positions."""
    channel, topology = sim.hops[h].channel, sim.topology
    if channel is None:
        return []
    if isinstance(channel, Trace) and channel.interval_s is None and sim.hops[0].deadline_s is None:
        reason = "the time between two exchanges is not defined"
        return [Problem(f"hops.{h}.channel.interval_s", reason, "set it, or hops.0.deadline_s")]
    try:
        trial = sim.rng.child("trial")
        state = channel.start(topology.senders(h), topology.receivers(h), trial)
        drawn, _ = channel.realise(topology.site(h, sim.clock(h, 0)), state, trial)
    except SpecError as error:
        return [replace(p, path=re.sub(r"^channel", f"hops.{h}.channel", p.path)) for p in error.problems]
    refusal = sim.hops[h].link.check(drawn)
    return [Problem(f"hops.{h}.channel", refusal)] if refusal else []


def _outer_problems(sim: Simulation, h: int) -> list[Problem]:
    """Problems of outer hops: fixed weights allow no losses, and a deadline must leave time for the hops below."""
    hop, below, problems = sim.hops[h], sim.hops[h - 1], []
    if sim.algorithm.relay == "fixed":
        reason = "control variates and fixed weights need every node of an outer hop to take part"
        if hop.deadline_s is not None:
            problems.append(
                Problem(f"hops.{h}.deadline_s", reason, "remove the deadline of the outer hop", hop.deadline_s)
            )
        if "lossless" not in hop.link.offers:
            problems.append(Problem(f"hops.{h}.link", reason, "use a link without erasures, such as ideal"))
        if not hop.policy.everyone:
            problems.append(Problem(f"hops.{h}.policy", reason, "use fixed"))
    if sim.waits == "deadline" and hop.deadline_s is not None and below.deadline_s is not None:
        least = below.period * below.deadline_s
        if hop.deadline_s < least:
            reason = f"the {below.period} exchange(s) of the hop below already take {least:g} s"
            problems.append(Problem(f"hops.{h}.deadline_s", reason, f"use more than {least:g}", hop.deadline_s))
    return problems


def _forwarding_problems(sim: Simulation) -> list[Problem]:
    """Problems of masts that pass on every payload: nothing may happen to it on its way, and the server averages."""
    problems = []
    if not is_plain_averaging(sim.algorithm):
        reason = "cells that forward payloads are equivalent to a flat network only for plain averaging"
        problems.append(Problem("topology.via", reason, "set via: null, or algorithm=fedavg"))
    for h, hop in enumerate(sim.hops):
        if h < len(sim.hops) - 1 and hop.period != 1:
            reason = "a payload is forwarded as soon as it arrives"
            problems.append(Problem(f"hops.{h}.period", reason, "use 1, or topology=hierarchical", hop.period))
        if "individual" not in hop.link.offers:
            reason = "payloads are forwarded one by one, but this link only delivers their sum"
            problems.append(Problem(f"hops.{h}.link", reason, "use digital or ideal, or topology=hierarchical"))
        if h > 0 and hop.transforms:
            reason = "a payload is forwarded as its client coded it"
            problems.append(Problem(f"hops.{h}.transforms", reason, "set the transforms of hops.0 instead"))
    if sim.model.local.size + sim.model.buffers.size:
        problems.append(Problem("model", "cells do not forward norm layers", "topology.via=null"))
    return problems


def _policy_problems(sim: Simulation, h: int) -> list[Problem]:
    hop, problems = sim.hops[h], []
    refusal = hop.policy.check(sim.topology.parents[h], sim.topology.receivers(h))
    if refusal:
        problems.append(Problem(f"hops.{h}.policy", refusal))
    problems += _missing_parts(h, hop, f"hops.{h}.policy", "this policy", hop.policy.needs)
    problems += _missing_parts(h, hop, f"hops.{h}.link", "this link", hop.link.needs)
    missing = hop.policy.needs - PIECES - hop.link.offers
    if missing:
        reason = f"this policy needs {_needed(missing)}, which this link does not offer"
        problems.append(Problem(f"hops.{h}.policy", reason, f"use a link that does: {_links_with(missing)}"))
    published = (DATA_SIGNALS | published_names(sim.algorithm)) if h == 0 else frozenset()
    unknown = hop.policy.reads - published
    if unknown:
        reason = f"this policy reads the signal(s) {_names(unknown)}, which nothing publishes"
        problems.append(Problem(f"hops.{h}.policy", reason, f"published here: {_names(published)}"))
    return problems


def _missing_parts(h: int, hop: Hop, path: str, subject: str, needs: frozenset[str]) -> list[Problem]:
    problems = []
    for part, value in (("fleet", hop.fleet), ("channel", hop.channel), ("deadline", hop.deadline_s)):
        if part in needs and value is None:
            key = "deadline_s" if part == "deadline" else part
            problems.append(Problem(path, f"{subject} needs a {part}", f"set hops.{h}.{key}"))
    if "steps" in needs and h > 0:
        problems.append(
            Problem(path, f"{subject} plans local steps, which exist only on hop 0", "use fixed or sampling here")
        )
    return problems


def _learning_problems(sim: Simulation) -> list[Problem]:
    rule, problems = sim.rule, []
    if isinstance(sim.algorithm, SingleHop) and sim.algorithm.single_hop and len(sim.hops) > 1:
        reason = f"is defined for clients and a single receiver, but this network has {len(sim.hops)} hops"
        problems.append(Problem("algorithm", reason, "use a flat topology, or another algorithm"))
    if rule.keep_state and not rule.state_names:
        reason = "plain SGD has no state to keep"
        problems.append(Problem("rule.keep_state", reason, "set rule.momentum, or rule.kind=adam", True))
    work = {entry.name for entry in fields(Work)}
    known = DATA_SIGNALS | {START_COUNTS, START_SEEN} | work | published_names(sim.algorithm)
    if unknown := sim.algorithm.reveals - known:
        reason = f"it reveals {_names(unknown)} to the receivers, but no such quantity exists"
        problems.append(Problem("algorithm", reason, f"known here: {_names(known)}"))
    return problems + _ledger_problems(sim)


def _ledger_problems(sim: Simulation) -> list[Problem]:
    """Declarations of an algorithm with a ledger that the rest of it does not keep."""
    algorithm, problems = sim.algorithm, []
    if algorithm.ledger is None:
        return []
    if absent := frozenset(algorithm.ledger.publishes) - _initial_memory(sim).ledger.keys():
        reason = f"its ledger publishes {_names(absent)}, but has no such slot"
        problems.append(Problem("algorithm", reason, "return the slot [C] from init, in the ledger of its Memory"))
    unannounced = algorithm.reveals & {entry.name for entry in fields(Work)}
    if unannounced and type(algorithm).coefficients is Algorithm.coefficients:
        reason = f"it weighs absent clients by {_names(unannounced)}, which are known of those that train only"
        remedy = "define coefficients(held, info), with a ledger slot of what was last known of each client"
        problems.append(Problem("algorithm", reason, remedy))
    if "individual" not in algorithm.needs:
        reason = "a ledger remembers individual payloads, but its needs do not name them"
        problems.append(Problem("algorithm", reason, "return super().needs | {...} from needs"))
    return problems


def _metric_problems(sim: Simulation) -> list[Problem]:
    """Trial of every metric on predictions that know nothing; scores that have the name of another one."""
    test, classes, problems = sim.stream.test(), max(sim.model.classes, sim.stream.classes), []
    target = sim.stream.target
    _, y = test.fetch(test.index[:2])
    logits = torch.full((len(y), classes), -math.log(classes))
    taken = {"accuracy": "accuracy", "loss": "loss"} | ({"rmse": "rmse"} if target == "value" else {})
    taken |= {f"top_{m}_accuracy": f"eval_top={sim.eval_top}" for m in range(2, sim.eval_top + 1)}
    taken |= {} if sim.cache is None else dict.fromkeys(("hit_ratio", "net_bits"), "cache")
    for number, metric in enumerate(sim.metrics):
        path = f"metrics.{number}"
        if known := [name for name in metric.names if name in taken]:
            reason = f"the score {known[0]} is already produced by {taken[known[0]]}"
            problems.append(Problem(path, reason, "leave one of them out"))
        taken |= dict.fromkeys(metric.names, path)
        if metric.target != target:
            reason = (
                f"it judges predictions of {PREDICTED[metric.target]}, but the data's targets are {PREDICTED[target]}"
            )
            problems.append(Problem(path, reason, "leave it out"))
            continue
        try:
            scores = metric.score(logits, y.cpu(), torch.zeros(len(y), dtype=torch.long))
        except SpecError as error:
            problems += [
                replace(problem, path=path + problem.path.removeprefix("metric")) for problem in error.problems
            ]
            continue
        if set(scores) != set(metric.names):
            reason = f"declares the scores {_names(frozenset(metric.names))}, but returns {_names(frozenset(scores))}"
            problems.append(Problem(path, reason, "make its names and its scores agree"))
    return problems


def loss_problems(sim: Simulation) -> list[Problem]:
    """Problems of the loss; ``sim.rule`` is already the algorithm's."""
    if sim.stream.validation() is None and any(ensemble.learned for ensemble in _predictions(sim)):
        reason = "there are no labels to learn the mixture from"
        return [Problem("data.held_out", reason, "set data.held_out=0.1, or algorithm.learn_mixture=false", 0.0)]
    if problem := _label_problem(sim):
        return [problem]
    if problems := _target_problems(sim):
        return problems
    loss = sim.rule.loss
    if problems := _personal_problems(sim):
        return problems
    if loss is None:
        return []
    problems = loss.check(sim.rule, sim.model) + loss_note_problems(sim) + _feature_problems(sim)
    return problems or _trial_problems(loss, sim.model.classes)


def _trial_problems(loss: Loss, classes: int) -> list[Problem]:
    """Trial of a loss on outputs that know nothing, of two clients with three samples each."""
    y = torch.zeros(2, 3) if loss.target == "value" else torch.zeros(2, 3, dtype=torch.long)
    unlabelled = torch.full((2, 1, classes), 1.0 / classes)
    m = 1 if loss.unlabelled_batch else 0
    batch = Batch(y, torch.full((2, 3), 1 / 3), unlabelled[:, :m], torch.ones(2, m), _AnyValue())
    rows = {*loss.trains, *loss.anchors}
    out = {name: Outputs(torch.zeros(2, 3 + m, classes), torch.ones(2, 3 + m, 4)) for name in sorted(rows)}
    try:
        cost, slopes = loss.slopes(out, batch)
        wrong = [name for name in loss.trains if slopes[name].logits.shape != out[name].logits.shape]
    except Exception as error:  # a loss of the user's own may raise anything
        place = Path(inspect.getsourcefile(type(loss)) or "its file")
        reason = f"{type(loss).__name__} failed in a trial, in {place.name}, {reason_in(error, place)}"
        return [Problem("loss", reason, "fix the loss")]
    if tuple(cost.shape) != (2,) or not bool(cost.isfinite().all()):
        reason = f"{type(loss).__name__} gives costs of shape {tuple(cost.shape)}, or infinite ones, for 2 clients"
        return [Problem("loss", reason, "return one finite cost per client, such as batch.mean(values)")]
    reason = f"{type(loss).__name__} gives slopes of another shape than the logits"
    return [Problem("loss", reason, "return one gradient per logit")] if wrong else []


class _AnyValue(dict[str, Tensor]):
    """Values per client of any name, for trials."""

    def __missing__(self, name: str) -> Tensor:
        return torch.full((2,), 0.5)


PREDICTED = {"class": "classes", "value": "real values"}
"""Targets in words."""


def _personal_problems(sim: Simulation) -> list[Problem]:
    """Parts that cannot do with parameters that each client has of its own."""
    problems = []
    if sim.rule.personal_steps and not sim.model.personal:
        reason = "no parameter is personal, so that nothing would train in these steps"
        problems.append(
            Problem("rule.personal_steps", reason, "name some in personal, or use 0", sim.rule.personal_steps)
        )
    if sim.model.personal and sim.cache is not None:
        reason = "caches are filled by the forecasts of one shared model, but some parameters are personal"
        problems.append(Problem("personal", reason, "leave out personal, or the cache"))
    return problems


def _target_problems(sim: Simulation) -> list[Problem]:
    """Parts that are defined for classes where values are predicted, or for values where classes are."""
    wanted, loss, problems = sim.stream.target, sim.rule.loss, []
    if loss is not None and loss.target != wanted:
        path = "algorithm" if loss.unlabelled_batch or len(loss.trains) > 1 else "loss"
        what = "pseudo-labels and mixtures of probabilities are" if path == "algorithm" else "this loss is"
        reason = f"{what} defined for {PREDICTED[loss.target]}, but the data's targets are {PREDICTED[wanted]}"
        remedy = "use fedavg or another algorithm without them" if path == "algorithm" else "set loss: null"
        problems.append(Problem(path, reason, remedy))
    if wanted == "value":
        if any(len(ensemble.members) > 1 for ensemble in _predictions(sim)):
            reason = "it predicts with a mixture of probabilities, which real values do not have"
            problems.append(Problem("algorithm", reason, "use an algorithm with a single model, such as fedavg"))
        if known := sim.algorithm.reveals & {"label_counts", START_COUNTS}:
            reason = f"it weighs clients by {_names(known)}, but the data's targets are real values"
            problems.append(Problem("algorithm", reason, "use fedavg"))
        if sim.cache is not None:
            reason = "caches need forecasts of files, which are classes, but the data's targets are real values"
            problems.append(Problem("cache", reason, "leave the cache out"))
    elif loss is None and sim.stream.classes < 2:
        problems.append(
            Problem("data", "there is a single class, so there is nothing to classify", "data.target=value")
        )
    return problems


def _feature_problems(sim: Simulation) -> list[Problem]:
    """Losses of features on models that have none."""
    loss, layers = sim.rule.loss, dense_layers(sim.model)
    if loss is None or not loss.reads_features:
        return []
    if head_of(sim.model.module, sim.model.classes) is not None and (layers is None or len(layers) > 1):
        return []
    reason = "this loss compares features, the inputs of the last linear layer, but the model has no hidden layer"
    return [Problem("model", reason, "use a model with a hidden layer that ends in a linear layer, such as mlp")]


def _label_problem(sim: Simulation) -> Problem | None:
    """Refusal of data without any label where the cost needs labelled samples."""
    loss = sim.rule.loss
    if loss is not None and loss.unlabelled_batch > 0 and not loss.stand_in:
        return None
    stats = sim.stream.stats(sim.stream.start())
    if bool((stats["samples"] == 0).any() or (stats["labelled"] > 0).any()):
        return None
    reason = "no client has a labelled sample, but this algorithm trains on labelled samples only"
    return Problem(
        "data.unlabelled",
        reason,
        "use a value below 1, or an algorithm with a cost for unlabelled samples",
    )


def _predictions(sim: Simulation) -> list[Ensemble]:
    """The algorithm's ensembles as shapes without numbers (meta tensors)."""
    memory = _initial_memory(sim)
    shared = {name: vector.unsqueeze(0) for name, vector in memory.shared.items()}
    return list(sim.algorithm.predict(shared, memory.client).values())


def _memory_problems(sim: Simulation) -> list[Problem]:
    """Memory demand above the machine's: refused before the run, which the system would otherwise kill in the middle.

    Counted are the state of clients and receivers (but for large client slots, which live in files) and, with full
    participation, the rows that a round works on.
    """
    clients, width = sim.topology.clients, sim.model.shared.size + sim.model.local.size
    memory = _initial_memory(sim)
    slots = [rows.numel() for rows in memory.client.values()]
    slots += [clients * width] * (len(sim.rule.state_names) if sim.rule.keep_state else 0)
    in_memory = [values for values in slots if 4 * values < LARGE or sim.device.type != "cpu"]
    state_values = sum(in_memory) + sum(rows.numel() for rows in (memory.ledger | memory.receiver).values())
    blocks = len(sim.algorithm.sends)
    state_values += clients * width * blocks if sim.hops[0].gather.carries else 0
    rows = 1 + (3 * blocks if blocks > 1 else 0)
    round_values = rows * clients * width if sim.hops[0].policy.everyone else 0
    need = 4.0 * (state_values + round_values)
    have = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else math.inf
    if need <= have:
        return []
    reason = f"{clients} clients with this model need about {show(need, 'B')}, but the machine has {show(have, 'B')}"
    return [Problem("model", reason, "use fewer clients or a smaller model")]


def _initial_memory(sim: Simulation) -> Memory:
    """The algorithm's initial memory as shapes without numbers (meta tensors)."""
    w = torch.empty(sim.model.shared.size, device="meta")
    return start_memory(sim.algorithm, w, sim.topology.clients, sim.topology.receivers(0))


def _links_with(traits: frozenset[str]) -> str:
    return _links_where(lambda link: traits <= link.offers)


def _links_where(fits: Callable[[Link], bool]) -> str:
    """Kinds of links that fit, as they are by default."""
    free = [part for part in parts("link") if not any(keyword.required for keyword in part.parameters())]
    kinds = [part.kind for part in free if fits(part.factory())]
    return ", ".join(kinds) or "none is registered"


def _names(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _needed(traits: Collection[str]) -> str:
    return ", ".join(OFFERED.get(trait, trait) for trait in sorted(traits))
