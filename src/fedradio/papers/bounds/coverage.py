"""Which runs a theorem is about. Every reason why it is not is told, with what would work."""

from __future__ import annotations

from fedradio.algorithms.fedavg import FedAvg
from fedradio.core.errors import Problem, SpecError
from fedradio.models.dropout import has_dropout
from fedradio.papers.bounds.replay import StoredRun
from fedradio.theory.rawhfl import Shares

WHY = "not covered by RawHFL's theorem: "


def uncovered(run: StoredRun) -> list[Problem]:
    """Why RawHFL's Theorem 1 says nothing about this run; empty if it is about averaging of plain local SGD."""
    return _algorithm_problems(run) + _rule_problems(run) + _network_problems(run)


def _algorithm_problems(run: StoredRun) -> list[Problem]:
    algorithm = run.sim.algorithm
    if type(algorithm) is not FedAvg:
        kind = run.spec.plain["algorithm"]["kind"]
        reason = WHY + "it is about averages of accumulated gradients"
        return [Problem("algorithm", reason, "algorithm=fedavg", kind)]
    found = []
    if algorithm.server_lr != 1.0:
        reason = WHY + "the mean change is added as it is"
        found.append(Problem("algorithm.server_lr", reason, "server_lr=1", algorithm.server_lr))
    if run.sim.rule.prox != 0.0:
        reason = WHY + "local steps have no proximal term"
        found.append(Problem("algorithm.mu", reason, "algorithm=fedavg", run.sim.rule.prox))
    return found


def _rule_problems(run: StoredRun) -> list[Problem]:
    rule, found = run.sim.rule, []
    if rule.optimiser != "sgd":
        found.append(Problem("rule", WHY + "local steps are plain SGD", "rule=sgd", rule.optimiser))
    if rule.momentum != 0.0:
        found.append(Problem("rule.momentum", WHY + "local steps have no momentum", "rule.momentum=0", rule.momentum))
    kind = run.spec.plain["schedule"]["kind"]
    if kind != "constant":
        reason = WHY + "the learning rate is the same in all rounds"
        found.append(Problem("schedule", reason, "schedule=constant", kind))
    if run.sim.model.local.size or run.sim.model.buffers.size:
        found.append(Problem("model", WHY + "all parameters are shared", "a model without norm layers"))
    if has_dropout(run.sim.model.module):
        reason = WHY + "mini-batch gradients are unbiased for the loss"
        found.append(Problem("model", reason, "a model without dropout"))
    return found


def _network_problems(run: StoredRun) -> list[Problem]:
    hops, found = run.sim.hops, []
    if len(hops) > 2:
        reason = WHY + "it knows clients, edges and a server"
        found.append(Problem("topology", reason, "at most two hops", len(hops)))
    for h, hop in enumerate(hops):
        if "individual" not in hop.link.offers:
            reason = WHY + "payloads arrive exactly or not at all"
            found.append(Problem(f"hops.{h}.link", reason, "a link that offers individual payloads"))
    return found


def refuse_weights(part: Shares, averaging: FedAvg, run: StoredRun) -> None:
    """Losses without correction shrink the update, and so do absent edges with fixed weights."""
    if not part.rounds:
        raise SpecError(Problem(str(run.folder), WHY + "nobody trained in any round"))
    if averaging.normalise == "selected" and bool((part.p_sc < 1).any()):
        reason = WHY + "payloads were lost, and weights over the selected do not make up for it"
        raise SpecError(Problem("algorithm.normalise", reason, "inverse or arrived", "selected"))
    if bool(((part.alpha_b.sum(dim=1) - 1).abs() > 1e-6).any()):
        raise SpecError(Problem("hops.1", WHY + "edges have fixed weights, and some were absent"))
