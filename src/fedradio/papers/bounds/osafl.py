"""OSAFL's Theorem 1, bound (24), on a run: its own scores and steps, gradients on changing data, the exact score (34).

``f`` is the surrogate loss (18): every client's loss on its present data, weighed by its score. Absent clients count
with their last number of steps, as their last update is used again; a client that was never heard counts 0.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import torch
from torch import Tensor

from fedradio.algorithms.osafl import AfaCd, Osafl
from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress
from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, Listing, exceeded
from fedradio.papers.bounds.constants import Estimate, largest, settle
from fedradio.papers.bounds.coverage import algorithm_problem, model_problems, network_problems, sgd_problems, why
from fedradio.papers.bounds.osafl_rounds import ReplayedRound, Work, replay, work_of
from fedradio.papers.bounds.paper import Paper
from fedradio.papers.bounds.replay import StoredRun
from fedradio.theory.osafl import Bound, Constants, Rounds, a_t, bound_24, coefficient_34, rate_limits, score_34

NAME = "OSAFL"

SYMBOLS = {
    "smoothness": "beta",
    "variance": "sigma^2",
    "rho_1": "rho_1",
    "rho_2": "rho_2",
    "divergence": "delta_u",
    "shift": "Phi_u",
    "gap": "f(w0) - f_inf",
}
"""Constants that can be given instead of estimated, and their symbols in the paper."""

TERMS = {
    "gap": "loss gap",
    "variance": "gradient variance",
    "shift": "new samples",
    "divergence": "clients that differ",
}
"""Names of the terms of (24)."""

MEANING = """\
Theorem 1 bounds the squared gradient of the surrogate loss, which weights clients by their scores, averaged over the
rounds. Its terms add up to the bound: how far the loss falls, mini-batch noise, samples that replace others (Phi), and
clients whose data differ (delta), all divided by A^t, which must be above 0. It is a worst-case guarantee, not a
forecast. The last table compares the score that minimises the bound, (34), with the similarity (35), which the server
can compute: a ratio near 1 means that little is lost."""


def uncovered(run: StoredRun) -> list[Problem]:
    """Why OSAFL's Theorem 1 does not cover a run; empty if mean updates of plain SGD are remembered and weighed."""
    algorithm, problems = run.sim.algorithm, []
    if not isinstance(algorithm, AfaCd) or not algorithm.remembers:
        reason = "it is about mean updates of all clients, which the server remembers"
        problems.append(algorithm_problem(run, NAME, reason, "use algorithm=osafl, or afa_cd with buffer: gradients"))
    elif algorithm.never_seen == "literal":
        reason = why(NAME, "w/eta in place of a gradient is not a gradient")
        problems.append(Problem("algorithm.never_seen", reason, "never_seen=nothing", "literal"))
    return problems + sgd_problems(run, NAME) + model_problems(run, NAME) + network_problems(run, NAME, 1)


def assess(run: StoredRun, rounds: int, given: dict[str, float], progress: Progress) -> Assessment:
    """OSAFL's Theorem 1 on a run; local steps are SGD updates."""
    algorithm = run.sim.algorithm
    assert isinstance(algorithm, AfaCd)
    asked = min(rounds, run.rounds)
    if asked < 1:
        raise SpecError(Problem("--replay", "shifts, divergences and similarities need replayed rounds", "1", rounds))
    replayed = replay(run, asked, progress, probe="smoothness" not in given)
    values, rows = settle(SYMBOLS, _estimates(replayed, given), given)
    constants = Constants(values["smoothness"], values["variance"], values["rho_1"], values["rho_2"])
    lr, global_lr = run.sim.rule.lr, server_rate(run)
    first = _rounds(replayed, values, given)
    drops = surrogate_drops(replayed)
    measured = sum(round_.norm_sq for round_ in replayed) / len(replayed)
    columns = [_column("replayed", len(replayed), bound_24(first, constants, lr, global_lr, drops), measured)]
    every, whole = work_of(run), first
    if len(replayed) < run.rounds and _scored(run):
        whole = _whole(first, every)
        even = torch.full((run.rounds,), values["gap"] / run.rounds, dtype=torch.float64)
        columns.append(_column("whole run", run.rounds, bound_24(whole, constants, lr, global_lr, even), None))
    conditions = _conditions(whole, constants, lr, global_lr)
    printed, needed = rate_limits(whole, constants, global_lr)
    rates = {"rate of the run": lr, "limit as printed": printed, "limit with A^t > 0 (Remark 3)": needed}
    applies = all(condition.holds for condition in conditions)
    bounds = [BoundTable("(24): mean of |grad f(w^t|D^t)|^2 over rounds, f the surrogate loss (18)", columns, applies)]
    listings = [_scores(replayed, first, constants, lr, global_lr)]
    notes = exceeded(bounds) + _notes(run, every, replayed)
    return Assessment("osafl", "OSAFL, Theorem 1", MEANING, bounds, rows, conditions, rates, listings, notes)


def _scored(run: StoredRun) -> bool:
    """Whether scores are the similarities (35)."""
    return isinstance(run.sim.algorithm, Osafl) and run.sim.algorithm.score == "similarity"


def server_rate(run: StoredRun) -> float:
    """Global rate ``eta~`` of (17) for mean gradients of single updates: means over local steps are larger by the
    updates of a step."""
    algorithm = run.sim.algorithm
    assert isinstance(algorithm, AfaCd)
    return algorithm.server_lr * (run.sim.rule.updates_per_step if algorithm.normalise == "steps" else 1)


def surrogate_drops(replayed: list[ReplayedRound]) -> Tensor:
    """Drops ``f(w^t|D^t) - f(w^(t+1)|D^(t+1))`` ``[T]``, each side with the scores of its own round; those of the last
    replayed round are kept for its end. They add up to the difference of the ends."""
    losses = [round_.loss for round_ in replayed]
    return torch.tensor([*losses, replayed[-1].end], dtype=torch.float64).diff().neg()


def _estimates(replayed: list[ReplayedRound], given: dict[str, float]) -> dict[str, Estimate]:
    n = len(replayed)
    rho_1, rho_2 = given.get("rho_1", 1.0), given.get("rho_2", 1.0)
    differ = [float(round_.divergence(rho_1, rho_2).max()) for round_ in replayed]
    moved = [float(round_.shift.max()) for round_ in replayed]
    return {
        "smoothness": largest([round_.smoothness for round_ in replayed], n),
        "variance": largest([round_.variance for round_ in replayed], n),
        "rho_1": Estimate(1.0, "chosen: the least that Assumption 3 allows"),
        "rho_2": Estimate(1.0, "chosen: only rho_2 delta_u counts"),
        "divergence": Estimate(max(differ), "measured: what (22) needs at the visited models; here the largest"),
        "shift": Estimate(max(moved), "measured: (23) at the visited models; here the largest"),
        "gap": Estimate(replayed[0].loss, "estimated: f(w0|D0), since cross entropy is not negative"),
    }


def _rounds(replayed: list[ReplayedRound], values: dict[str, float], given: dict[str, float]) -> Rounds:
    """The replayed rounds as the theorem sees them; a given shift or divergence is that of all clients."""

    def stacked(rows: list[Tensor], name: str) -> Tensor:
        return torch.full_like(torch.stack(rows), given[name]) if name in given else torch.stack(rows)

    apart = [round_.divergence(values["rho_1"], values["rho_2"]) for round_ in replayed]
    return Rounds(
        alpha=replayed[0].alpha,
        steps=torch.stack([round_.steps for round_ in replayed]),
        score=torch.stack([round_.score for round_ in replayed]),
        similarity=torch.stack([round_.similarity for round_ in replayed]),
        shift=stacked([round_.shift for round_ in replayed], "shift"),
        divergence=stacked(apart, "divergence"),
    )


def _whole(first: Rounds, every: list[Work]) -> Rounds:
    """All rounds: steps and scores of the records, which are the similarities; of shift and divergence each client's
    largest among the replayed rounds."""
    score = torch.stack([work.score for work in every])
    worst = [rows.max(dim=0).values.expand_as(score) for rows in (first.shift, first.divergence)]
    return Rounds(first.alpha, torch.stack([work.steps for work in every]), score, score, *worst)


def _conditions(rounds: Rounds, constants: Constants, lr: float, global_lr: float) -> list[Condition]:
    beta, most = constants.smoothness, float(rounds.steps.max())
    flat = beta <= 0
    return [
        Condition("Theorem 1: eta eta~ <= 1/beta", lr * global_lr, math.inf if flat else 1 / beta),
        Condition(
            "Theorem 1: eta < 1/(2 sqrt2 beta kappa)",
            lr,
            math.inf if flat else 1 / (2 * math.sqrt(2) * beta * most),
            "<",
        ),
        Condition("(24): A^t > 0, smallest", float(a_t(rounds, constants, lr).min()), 0.0, ">"),
    ]


def _column(title: str, rounds: int, bound: Bound, measured: float | None) -> BoundColumn:
    return BoundColumn(title, rounds, {TERMS[name]: term for name, term in asdict(bound).items()}, measured)


def _scores(
    replayed: list[ReplayedRound], rounds: Rounds, constants: Constants, lr: float, global_lr: float
) -> Listing:
    """Scores of the clients heard so far, by round: the similarity, and what (34) makes of it."""
    exact, ratio = (function(rounds, constants, lr, global_lr) for function in (score_34, coefficient_34))
    rows: list[list[str | float | None]] = []
    for t, round_ in enumerate(replayed):
        heard = round_.heard
        if not bool(heard.any()):
            rows.append([round_.t, 0, *[None] * 5])
            continue
        of = ratio[t][heard]
        means = [float(score[heard].mean()) for score in (round_.score, round_.similarity, exact[t])]
        rows.append([round_.t, int(heard.sum()), *means, float(of.min()), float(of.max())])
    header = ["round", "clients heard", "score used", "similarity (35)", "exact (34)", "least ratio", "largest ratio"]
    return Listing("scores, means over the clients heard so far; ratio: exact / similarity", header, rows)


def _notes(run: StoredRun, every: list[Work], replayed: list[ReplayedRound]) -> list[str]:
    """Notes on where the run deviates from the theorem's assumptions."""
    notes, clients = [], run.sim.topology.clients
    absent = sum(int((~work.arrived).sum()) for work in every)
    if absent:
        share = absent / (clients * len(every))
        notes.append(
            f"{share:.0%} of all uploads are repeated ones of absent clients; the theorem does not cover absence"
        )
    if never := int((~replayed[-1].heard).sum()):
        notes.append(f"{never} of {clients} clients had not been heard by round {replayed[-1].t}; they count as 0")
    if not _scored(run):
        exact = isinstance(run.sim.algorithm, Osafl) and run.sim.algorithm.score == "exact"
        what = (
            "scores are those of (34) for the spec's constants" if exact else "all scores are 1, so (24) becomes (25)"
        )
        notes.append(f"{what}; similarities are known only for replayed rounds")
    if run.spec.plain["data"]["stream"]["kind"] != "static":
        notes.append("the data changes: a higher loss on new samples counts as a negative loss gap")
    return notes


OSAFL = Paper(NAME, SYMBOLS, uncovered, assess, least={"rho_1": 1.0})
