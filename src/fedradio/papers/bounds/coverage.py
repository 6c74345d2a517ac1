"""What theorems of several papers ask of a run; every reason why a run is not covered comes with a remedy."""

from __future__ import annotations

from fedradio.core.errors import Problem
from fedradio.models.dropout import has_dropout
from fedradio.papers.bounds.replay import StoredRun
from fedradio.transforms.chain import lossy


def why(paper: str, reason: str) -> str:
    """A reason why a paper's theorem does not cover a run."""
    return f"not covered by {paper}'s theorem: {reason}"


def sgd_problems(run: StoredRun, paper: str, *, momentum: bool = False) -> list[Problem]:
    """Local steps that are not plain SGD of constant rate; ``momentum`` is allowed where the theorem has it."""
    rule, problems = run.sim.rule, []
    if rule.optimiser != "sgd":
        problems.append(Problem("rule", why(paper, "local steps must be plain SGD"), "rule=sgd", rule.optimiser))
    if rule.momentum != 0.0 and not momentum:
        reason = why(paper, "local steps must have no momentum")
        problems.append(Problem("rule.momentum", reason, "rule.momentum=0", rule.momentum))
    kind = run.spec.plain["schedule"]["kind"]
    if kind != "constant":
        reason = why(paper, "the learning rate must be the same in all rounds")
        problems.append(Problem("schedule", reason, "schedule=constant", kind))
    if rule.lr_per_step:
        reason = why(paper, "the learning rate must be the same for all clients")
        problems.append(Problem("rule.lr_per_step", reason, "rule.lr_per_step=false", True))
    return problems


def model_problems(run: StoredRun, paper: str) -> list[Problem]:
    """Models with parameters that stay with the clients, or whose gradients are biased."""
    problems = []
    if run.sim.model.local.size or run.sim.model.buffers.size:
        problems.append(
            Problem("model", why(paper, "all parameters must be shared"), "use a model without norm layers")
        )
    if has_dropout(run.sim.model.module):
        reason = why(paper, "mini-batch gradients must be unbiased for the loss")
        problems.append(Problem("model", reason, "use a model without dropout"))
    return problems


def network_problems(run: StoredRun, paper: str, most_hops: int) -> list[Problem]:
    """Networks with too many hops, whose links or coders do not deliver payloads as they are, or whose receivers have
    optimisers."""
    hops, problems = run.sim.hops, []
    if len(hops) > most_hops:
        nodes = "clients and a server" if most_hops == 1 else "clients, edges and a server"
        remedy = "use one hop" if most_hops == 1 else "use at most two hops"
        problems.append(Problem("topology", why(paper, f"it only covers {nodes}"), remedy, len(hops)))
    for h, hop in enumerate(hops):
        if "individual" not in hop.link.offers:
            reason = why(paper, "payloads must arrive exactly or not at all")
            problems.append(Problem(f"hops.{h}.link", reason, "use a link that offers individual payloads"))
    return problems + receiving_problems(run, paper)


def receiving_problems(run: StoredRun, paper: str) -> list[Problem]:
    """Coders that change payloads, and optimisers at receivers."""
    problems = []
    for h, hop in enumerate(run.sim.hops):
        if lossy(hop.transforms):
            reason = why(paper, "payloads must arrive exactly")
            problems.append(Problem(f"hops.{h}.transforms", reason, "remove lossy transforms"))
        if hop.receiver is not None:
            reason = why(paper, "the mean change must be added unchanged")
            problems.append(Problem(f"hops.{h}.receiver", reason, "receiver=null"))
    return problems


def algorithm_problem(run: StoredRun, paper: str, reason: str, remedy: str) -> Problem:
    """An algorithm that the theorem is not about."""
    return Problem("algorithm", why(paper, reason), remedy, run.spec.plain["algorithm"]["kind"])
