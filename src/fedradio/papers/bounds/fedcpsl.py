"""FedCPSL's Theorems 1 and 2 on a run: conditions (34), (36)-(38), bounds (35) and (39), the gaps (33) beside them.

``f_i`` and ``F_i`` are the costs (4) and (6c) on all of a client's samples. Pseudo-labels start uniform.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import torch

from fedradio.algorithms.apfl import weights_of
from fedradio.algorithms.fedcpsl import FedCpsl
from fedradio.core.contracts import Objective
from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress
from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, Listing, exceeded
from fedradio.papers.bounds.constants import Estimate, largest, settle
from fedradio.papers.bounds.coverage import (
    algorithm_problem,
    model_problems,
    network_problems,
    sgd_problems,
    why,
)
from fedradio.papers.bounds.fedcpsl_rounds import ReplayedRound, replay, shares
from fedradio.papers.bounds.paper import Paper
from fedradio.papers.bounds.replay import StoredRun
from fedradio.theory import fedcpsl as theory
from fedradio.theory.fedcpsl import Constants, Setting

NAME = "FedCPSL"

SYMBOLS = {
    "smoothness": "L",
    "variance": "sigma^2",
    "smoothness_own": "L_F",
    "smoothness_cost": "L~",
    "smoothness_output": "L_h",
    "convexity": "mu",
    "spread": "Gamma",
    "gap": "f(theta0, nu0) - f_inf",
}
"""Constants that can be given instead of estimated, and their symbols in the paper."""

SHARED_ONLY = ("smoothness", "variance", "gap")
"""Constants of Theorem 1, the only ones for runs without own models."""

MEANING = """\
Theorem 1 bounds the squared gradient of the shared model's cost plus the changes of the pseudo-labels (33), Theorem 2
that of the clients' own models; both are averages over the rounds. Their terms add up to the bound; (d) and (e) remain
however long the run is. Both are worst-case guarantees that apply only if every condition holds: the published rates
need costs that are far smoother than those of neural networks, so expect some conditions to fail."""


def uncovered(run: StoredRun) -> list[Problem]:
    """Why FedCPSL's theorems do not cover a run; empty if it is FedCPSL, or FedSHVR, on data that stay."""
    algorithm, problems = run.sim.algorithm, []
    if not isinstance(algorithm, FedCpsl):
        reason = "it is about control variates for pairs of models, or for semi-supervised costs"
        problems.append(algorithm_problem(run, NAME, reason, "use algorithm=fedcpsl or fedshvr"))
    else:
        for name in ("finetune_after", "phases"):
            if getattr(algorithm, name) is not None:
                reason = why(NAME, "both models must be trained in all rounds")
                problems.append(Problem(f"algorithm.{name}", reason, "null", getattr(algorithm, name)))
        if algorithm.objective.pseudo_on != "unlabelled":
            reason = why(NAME, "pseudo-labels must be those of unlabelled samples")
            problems.append(Problem("algorithm.pseudo_on", reason, "unlabelled", algorithm.objective.pseudo_on))
    stream = run.spec.plain["data"]["stream"]["kind"]
    if stream != "static":
        problems.append(Problem("data.stream", why(NAME, "the data must not change"), "stream=static", stream))
    problems += sgd_problems(run, NAME, momentum=True) + model_problems(run, NAME)
    return problems + network_problems(run, NAME, 1)


def assess(run: StoredRun, rounds: int, given: dict[str, float], progress: Progress) -> Assessment:
    """FedCPSL's theorems on a run."""
    asked, own = min(rounds, run.rounds), _has_own(run)
    symbols = {name: symbol for name, symbol in SYMBOLS.items() if own or name in SHARED_ONLY}
    if asked < 1:
        raise SpecError(Problem("--replay", "pseudo-labels and own models need replayed rounds", "1", rounds))
    replayed = replay(run, asked, progress, probe="smoothness" not in given)
    values, rows = settle(symbols, _estimates(run, replayed), given)
    constants = Constants(**{name: value for name, value in values.items() if name != "gap"})
    setting = setting_of_run(run)
    if not constants.smoothness > 0:
        raise SpecError(Problem("--set smoothness", "nothing changed, so it was not estimated", "give it", 0.0))
    potential = theory.potential_48(values["gap"], replayed[0].variate_sq, setting, constants)
    counts = [("replayed", len(replayed))] + ([("whole run", run.rounds)] if len(replayed) < run.rounds else [])
    gaps = [theory.gap_33(round_.norm_sq, round_.label_moves, setting, constants) for round_ in replayed]
    first = theory.conditions_34(setting, constants)
    bounds = [_first(counts, setting, constants, potential, sum(gaps) / len(gaps), first)]
    every = first
    if own:
        every = theory.conditions_36_to_38(setting, constants)
        measured = sum(float(setting.share @ round_.own_sq) for round_ in replayed) / len(replayed)
        bounds.append(_second(counts, setting, constants, (values["gap"], potential), measured, every))
    conditions = [Condition(f"{c.equation}: {c.quantity} <= {c.term}", c.value, c.limit) for c in every]
    rate, order = theory.corollary_1(setting, run.rounds)
    rates = {
        "rate of the run": setting.lr,
        "largest by (34)": theory.largest_rate(setting, constants),
        "Corollary 1: sqrt(m/(eta_g N R))": rate,
        "order of its bound: sqrt(N/(m eta_g R))": order,
    }
    listings = [_gaps(replayed, gaps, setting, own)]
    notes = exceeded(bounds) + _notes(run, setting, constants, own)
    title = "FedCPSL, Theorems 1 and 2" if own else "FedCPSL, Theorem 1"
    return Assessment("fedcpsl", title, MEANING, bounds, rows, conditions, rates, listings, notes)


def setting_of_run(run: StoredRun) -> Setting:
    """The run's rates and steps: as many clients sampled as took part on average, ``eta_g`` their mean updates."""
    sim, algorithm, cost = run.sim, run.sim.algorithm, run.sim.rule.objective
    assert isinstance(algorithm, FedCpsl)
    records = [record for records in run.exchanges for record in records if record.hop == 0 and any(record.arrived)]
    if not records:
        raise SpecError(Problem(str(run.folder), why(NAME, "no client took part in any round")))
    done = torch.tensor([steps for record in records for steps in record.steps]) * sim.rule.updates_per_step
    effective = sim.rule.effective_steps(done)
    own_lr = 1.0 if cost is None else cost.lr_factor
    return Setting(
        clients=sim.topology.clients,
        sampled=round(sum(sum(record.arrived) for record in records) / len(records)),
        lr=sim.rule.lr,
        global_lr=float((done if algorithm.global_rate == "steps" else effective).double().mean()),
        own_lr=sim.rule.lr * own_lr,
        pseudo_lr=_label_rate(run),
        most=float(effective.max()),
        least=float(effective.min()),
        batch=sim.rule.batch + (0 if cost is None else cost.unlabelled_batch),
        share=shares(sim),
        mixture=weights_of(algorithm.mixture if _has_own(run) else 0.0, sim.topology.clients).double(),
    )


def _label_rate(run: StoredRun) -> float:
    """Rate ``eta_v`` of (10) on a client's mean cost, the largest; 0 for pseudo-labels in closed form."""
    cost = run.sim.rule.objective
    if cost is None or not cost.keeps_labels:
        return 0.0
    stats = run.sim.stream.stats(run.sim.stream.start())
    most = int((stats["samples"] - stats["labelled"]).max())
    if cost.pseudo_rate is not None:
        return most * cost.pseudo_rate
    return most / (4 * cost.alpha_r * run.sim.model.classes) if cost.alpha_r > 0 else 0.0


def _has_own(run: StoredRun) -> bool:
    cost = run.sim.rule.objective
    return cost is not None and cost.pair


def _estimates(run: StoredRun, replayed: list[ReplayedRound]) -> dict[str, Estimate]:
    n, cost = len(replayed), run.sim.rule.objective or Objective()
    along = "largest along the moves of the replayed rounds"
    return {
        "smoothness": largest([round_.smoothness for round_ in replayed], n),
        "variance": Estimate(max(r.variance for r in replayed), "estimated: mini-batch variance times S"),
        "smoothness_own": Estimate(max(r.smoothness_own for r in replayed), f"estimated: {along}"),
        "smoothness_cost": Estimate(
            max(r.smoothness_cost for r in replayed), f"estimated: {along}; not bounded in truth"
        ),
        "smoothness_output": Estimate(max(r.smoothness_output for r in replayed), f"estimated: {along}"),
        "convexity": Estimate(cost.alpha_r, "known: alpha_r, the least curvature of alpha_r nu log nu"),
        "spread": Estimate(math.sqrt(2.0), "known: the largest distance of probabilities"),
        "gap": Estimate(replayed[0].loss, "measured: f(theta0, nu0), since the cost is not negative"),
    }


def _first(
    counts: list[tuple[str, int]],
    setting: Setting,
    constants: Constants,
    gap: float,
    measured: float,
    conditions: list[theory.Condition],
) -> BoundTable:
    """Bound (35) of Theorem 1 over the replayed rounds and over the whole run."""
    columns = []
    for title, rounds in counts:
        bound = theory.bound_35(setting, constants, rounds, gap)
        terms = {"potential at the start": bound.gap, "gradient noise": bound.noise}
        columns.append(BoundColumn(title, rounds, terms, measured if title == "replayed" else None))
    applies = all(condition.holds for condition in conditions)
    return BoundTable("(35): mean of the gap (33) of shared model and pseudo-labels", columns, applies)


SECOND = {
    "cost": "cost at the start",
    "potential": "potential at the start",
    "a": "(a) noise of own steps",
    "b": "(b) noise of shared steps",
    "c": "(c) noise, shared model",
    "d": "(d) moving pseudo-labels",
    "e": "(e) moving shared model",
}
"""Names of the terms of (39)."""


def _second(
    counts: list[tuple[str, int]],
    setting: Setting,
    constants: Constants,
    gaps: tuple[float, float],
    measured: float,
    conditions: list[theory.Condition],
) -> BoundTable:
    """Bound (39) of Theorem 2; ``gaps`` are those of cost and potential."""
    columns = []
    for title, rounds in counts:
        bound = asdict(theory.bound_39(setting, constants, rounds, *gaps))
        terms = {SECOND[name]: term for name, term in bound.items()}
        columns.append(BoundColumn(title, rounds, terms, measured if title == "replayed" else None))
    applies = all(condition.holds for condition in conditions)
    return BoundTable("(39): mean of sum_i w_i |grad F_i|^2 in the own models", columns, applies)


def _gaps(replayed: list[ReplayedRound], gaps: list[float], setting: Setting, own: bool) -> Listing:
    """The gap (33) by round with its two parts, and the own models' squared gradient."""
    rows: list[list[str | float | None]] = []
    for round_, gap in zip(replayed, gaps, strict=True):
        moved = float(setting.share @ round_.label_moves)
        own_sq = float(setting.share @ round_.own_sq) if own else None
        rows.append([round_.t, round_.norm_sq, moved, gap, own_sq])
    header = ["round", "|grad f|^2", "label moves", "gap (33)", "own models"]
    return Listing("gaps by round; label moves: sum_i w_i |nu_i^(r+1) - nu_i^r|^2", header, rows)


def _notes(run: StoredRun, setting: Setting, constants: Constants, own: bool) -> list[str]:
    """Notes on where the run deviates from the theorems' assumptions, and on misprints that matter."""
    notes, cost = [], run.sim.rule.objective
    numbers = {sum(record.arrived) for records in run.exchanges for record in records if record.hop == 0}
    if len(numbers) > 1:
        notes.append(f"{min(numbers)} to {max(numbers)} clients took part in a round; m is their rounded mean")
    if cost is not None and cost.pseudo == "closed" and cost.alpha_p > 0:
        notes.append("pseudo-labels are those of (7a); the theorems are for the steps (10), for (7a) see Remark 4")
    if own:
        corrected = theory.conditions_36_to_38(setting, constants, corrected=True)
        failed = [str(condition) for condition in corrected[-4:] if not condition.holds]
        notes.append("(37) and (38) as the proof needs them: " + ("; ".join(failed) if failed else "they hold"))
    return notes


FEDCPSL = Paper(NAME, SYMBOLS, uncovered, assess, least={"smoothness": 0.0, "smoothness_own": 0.0})
