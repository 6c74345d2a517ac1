"""Which runs a theorem covers; refusals give every reason, with a remedy."""

from __future__ import annotations

from fedradio.core.contracts import Averaging
from fedradio.core.errors import Problem, SpecError
from fedradio.models.dropout import has_dropout
from fedradio.papers.bounds.replay import StoredRun
from fedradio.theory.rawhfl import Shares
from fedradio.transforms.chain import lossy

WHY = "not covered by RawHFL's theorem: "


def uncovered(run: StoredRun) -> list[Problem]:
    """Why RawHFL's Theorem 1 does not cover a run; empty if it is averaging of plain local SGD."""
    return _algorithm_problems(run) + _rule_problems(run) + _network_problems(run)


def _algorithm_problems(run: StoredRun) -> list[Problem]:
    algorithm = run.sim.algorithm
    averaging = algorithm.averaging
    if averaging is None:
        kind = run.spec.plain["algorithm"]["kind"]
        reason = WHY + "it is about averages of accumulated gradients"
        return [Problem("algorithm", reason, "algorithm=fedavg", kind)]
    problems = []
    if averaging.server_lr != 1.0:
        reason = WHY + "the mean change is added as it is"
        problems.append(Problem("algorithm.server_lr", reason, "server_lr=1", averaging.server_lr))
    if run.sim.rule.prox != 0.0:
        reason = WHY + "local steps have no proximal term"
        problems.append(Problem("algorithm.mu", reason, "algorithm=fedavg", run.sim.rule.prox))
    return problems


def _rule_problems(run: StoredRun) -> list[Problem]:
    rule, problems = run.sim.rule, []
    if rule.optimiser != "sgd":
        problems.append(Problem("rule", WHY + "local steps are plain SGD", "rule=sgd", rule.optimiser))
    if rule.momentum != 0.0:
        problems.append(
            Problem("rule.momentum", WHY + "local steps have no momentum", "rule.momentum=0", rule.momentum)
        )
    kind = run.spec.plain["schedule"]["kind"]
    if kind != "constant":
        reason = WHY + "the learning rate is the same in all rounds"
        problems.append(Problem("schedule", reason, "schedule=constant", kind))
    if run.sim.model.local.size or run.sim.model.buffers.size:
        problems.append(Problem("model", WHY + "all parameters are shared", "a model without norm layers"))
    if has_dropout(run.sim.model.module):
        reason = WHY + "mini-batch gradients are unbiased for the loss"
        problems.append(Problem("model", reason, "a model without dropout"))
    return problems


def _network_problems(run: StoredRun) -> list[Problem]:
    hops, problems = run.sim.hops, []
    if len(hops) > 2:
        reason = WHY + "it knows clients, edges and a server"
        problems.append(Problem("topology", reason, "at most two hops", len(hops)))
    for h, hop in enumerate(hops):
        if "individual" not in hop.link.offers:
            reason = WHY + "payloads arrive exactly or not at all"
            problems.append(Problem(f"hops.{h}.link", reason, "a link that offers individual payloads"))
        if lossy(hop.transforms):
            problems.append(Problem(f"hops.{h}.transforms", WHY + "payloads arrive exactly", "no lossy transform"))
        if hop.receiver is not None:
            problems.append(Problem(f"hops.{h}.receiver", WHY + "the mean change is added as it is", "receiver=null"))
    return problems


def refuse_weights(shares: Shares, averaging: Averaging, run: StoredRun) -> None:
    """Refuse weights that do not add up to 1: losses without correction, or absent edges with fixed weights."""
    if not shares.rounds:
        raise SpecError(Problem(str(run.folder), WHY + "nobody trained in any round"))
    if averaging.normalise == "selected" and bool((shares.p_sc < 1).any()):
        reason = WHY + "payloads were lost, and weights over the selected do not make up for it"
        raise SpecError(Problem("algorithm.normalise", reason, "inverse or arrived", "selected"))
    if bool(((shares.alpha_b.sum(dim=1) - 1).abs() > 1e-6).any()):
        raise SpecError(Problem("hops.1", WHY + "edges have fixed weights, and some were absent"))
