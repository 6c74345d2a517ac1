"""W-HFL's theory on a run: the exact error of the air, Lemma 1's terms of (32), and the bound (33) on the loss.

``F`` is the mean loss of the clients. A round's true mean ``v(t+1)`` is that of all changes that clients sent in its I
cluster iterations; the air delivers ``theta(t+1)`` in its place.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress
from fedradio.links.air import Normaliser, symbols
from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, exceeded
from fedradio.papers.bounds.constants import Estimate, largest, settle
from fedradio.papers.bounds.coverage import algorithm_problem, model_problems, receiving_problems, why
from fedradio.papers.bounds.paper import Paper
from fedradio.papers.bounds.replay import StoredRun
from fedradio.papers.bounds.whfl_rounds import ReplayedRound, last_model, replay
from fedradio.papers.studies.air import is_air, printed_setting
from fedradio.theory import whfl as theory
from fedradio.theory.estimate import squared_norm
from fedradio.theory.whfl import Printed

NAME = "W-HFL"

SYMBOLS = {
    "smoothness": "L",
    "convexity": "mu",
    "gradient_sq": "G^2",
    "heterogeneity": "Gamma",
    "start_sq": "|theta(0) - theta*|^2",
    "lowest": "F*",
}
"""Constants that can be given instead of estimated, and their symbols in the paper."""

CAUSES = {
    "bias": "unequal gains",
    "fading": "fading",
    "intra": "same cluster",
    "inter": "other clusters",
    "noise": "receiver noise",
    "edge_fading": "second hop: fading",
    "edge_intra": "second hop: other edges",
    "edge_noise": "second hop: receiver noise",
}
"""Causes of the exact error."""

LEMMA_1 = {
    "signal": "wanted signal (A)",
    "edges": "other edges",
    "clients": "other clients, own edge",
    "both": "other clients, other edges",
    "noise": "receiver noise",
}
"""Names of the over-the-air terms of (32)."""

MEANING = """\
Over the air, the server receives the mean change of its clients with an error. The first table shows the expected
error, exactly and by cause, next to the error that the run drew; the second shows the terms of Lemma 1, which the paper
prints for it; the third shows the printed bound (33) on the loss. All are sums over the whole model. Trust the first:
the printed terms do not hold in general. With the mean of the gains as normaliser, the first term can be below 0; with
their sum, as printed, every hop shrinks the change."""


def uncovered(run: StoredRun) -> list[Problem]:
    """Why W-HFL's theory does not cover a run; empty if all clients always send over the air with equal weights."""
    sim, problems = run.sim, []
    averaging = sim.algorithm.averaging
    if not is_air(sim):
        kinds = [hop["link"]["kind"] for hop in run.spec.plain["hops"]]
        reason = why(NAME, "it is about one or two hops, all over the air")
        problems.append(Problem("hops", reason, "use link: over_the_air on every hop", kinds))
    if averaging is None or averaging.server_lr != 1.0:
        problems.append(
            algorithm_problem(run, NAME, "changes must be averaged and added unchanged", "algorithm=fedavg")
        )
    samples = sim.stream.stats(sim.stream.start())["samples"]
    if sim.algorithm.reveals & {"samples", "start_seen"} and int(samples.min()) < int(samples.max()):
        reason = why(NAME, "all clients must have the same weight")
        problems.append(Problem("algorithm.weighting", reason, "algorithm.weighting=equal", "samples"))
    records = [record for records in run.exchanges for record in records]
    if any(not all(record.arrived) or len(record.ids) < sim.topology.senders(record.hop) for record in records):
        problems.append(
            Problem("hops", why(NAME, "everyone must send in every exchange"), "use a policy that selects everyone")
        )
    if len(set(torch.bincount(sim.topology.parents[0]).tolist())) > 1:
        problems.append(
            Problem("topology", why(NAME, "all clusters must have the same number of clients"), "topology=clusters")
        )
    return problems + model_problems(run, NAME) + receiving_problems(run, NAME)


def assess(run: StoredRun, rounds: int, given: dict[str, float], progress: Progress) -> Assessment:
    """W-HFL's theory on a run; local steps are updates, of whatever rule."""
    asked = min(rounds, run.rounds)
    if asked < 1:
        raise SpecError(Problem("--replay", "the error of the air needs replayed rounds", "1", rounds))
    replayed = replay(run, asked, progress, probe="smoothness" not in given)
    values, rows = settle(SYMBOLS, _estimates(run, replayed), given)
    own = _normaliser(run)
    bars: list[Normaliser] = ["sum"] if own == "sum" else ["sum", "mean"]
    settings = {_title(bar): _printed(run, replayed, values, bar) for bar in bars}
    loss = replayed[-1].end - values["lowest"]
    conditions = _conditions(replayed, settings[_title(own)], values)
    applies = all(condition.holds for condition in conditions)
    bounds = [
        _exact(run.sim.model.shared.size, replayed),
        _lemma_1(replayed, settings, applies),
        BoundTable(
            "(33): F(theta) - F* after the replayed rounds, as printed",
            [_column_33(title, setting, replayed, loss) for title, setting in settings.items()],
            applies,
        ),
    ]
    rates = {
        "rate of the run, first round": replayed[0].lr,
        "limit: min(1, 1/(mu tau I))": conditions[0].limit,
    }
    notes = exceeded(bounds) + _notes(run, replayed, own)
    return Assessment("whfl", "W-HFL, Theorem 1 and Lemma 1", MEANING, bounds, rows, conditions, rates, notes=notes)


def _title(bar: Normaliser) -> str:
    return "sum, as printed" if bar == "sum" else "mean"


def _normaliser(run: StoredRun) -> Normaliser:
    """The normaliser of the run's first hop."""
    bar: Normaliser = run.spec.plain["hops"][0]["link"]["normaliser"]
    return bar


def _estimates(run: StoredRun, replayed: list[ReplayedRound]) -> dict[str, Estimate]:
    n = len(replayed)
    curved = min(round_.convexity for round_ in replayed)
    travelled = float(squared_norm(last_model(run, replayed[-1].after) - replayed[0].w))
    lowest = min(min(round_.loss, round_.end) for round_ in replayed)
    sent = Estimate(max(r.gradient_sq for r in replayed), "measured: largest change sent, over eta tau, squared")
    return {
        "smoothness": largest([round_.smoothness for round_ in replayed], n),
        "convexity": Estimate(
            max(curved, 0.0) if math.isfinite(curved) else 0.0,
            "estimated: smallest along the rounds' moves; at least mu",
        ),
        "gradient_sq": sent,
        "heterogeneity": Estimate(lowest, "estimated: lowest F of the replayed rounds; at least Gamma"),
        "start_sq": Estimate(travelled, "estimated: from the run's first model to its last"),
        "lowest": Estimate(0.0, "estimated: 0, since cross entropy is not negative"),
    }


def _printed(run: StoredRun, replayed: list[ReplayedRound], values: dict[str, float], bar: Normaliser) -> Printed:
    """The printed bound's parameters with the run's network and the constants."""
    one = torch.ones(1, 1, dtype=torch.float64)
    setting = Printed(
        one,
        one[0],
        iterations=run.sim.edge_rounds,
        tau=max(round_.steps for round_ in replayed),
        d=run.sim.model.shared.size,
        smoothness=values["smoothness"],
        mu=values["convexity"],
        gradient_sq=values["gradient_sq"],
        heterogeneity=values["heterogeneity"],
        start_sq=values["start_sq"],
        bar=bar,
    )
    return printed_setting(run.sim, setting)


def _series(replayed: list[ReplayedRound]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Rates and amplitudes of the replayed rounds, ``[T]`` each; no second amplitude over one hop."""
    rate, first = (
        torch.tensor([getattr(r, name) for r in replayed], dtype=torch.float64) for name in ("lr", "amplitude")
    )
    edges = [r.edge_amplitude for r in replayed if r.edge_amplitude is not None]
    return rate, first, torch.tensor(edges, dtype=torch.float64) if edges else None


def lemma_terms(setting: Printed, replayed: list[ReplayedRound]) -> Slots:
    """The over-the-air terms of (32) in every replayed round, ``[T]`` each."""
    rate, first, edges = _series(replayed)
    if edges is None:
        return theory.one_hop_32(setting, rate, first)
    return theory.air_32(setting, rate, first, edges)


def _exact(d: int, replayed: list[ReplayedRound]) -> BoundTable:
    """The exact expected error of the air, the mean over replayed rounds, beside the run's own draws of it."""
    n, count = symbols(d), len(replayed)
    terms = dict.fromkeys(CAUSES.values(), 0.0)
    for round_ in replayed:
        for name, part in asdict(round_.error).items():
            terms[CAUSES[name]] += n * part / count
    measured = sum(round_.measured for round_ in replayed) / count
    title = "exact: E|theta(t+1) - v(t+1)|^2, error of the air in a round"
    return BoundTable(title, [BoundColumn("replayed", count, terms, measured)], applies=True, exact=True)


def _lemma_1(replayed: list[ReplayedRound], settings: dict[str, Printed], applies: bool) -> BoundTable:
    """Lemma 1: the printed bound on the same error, the mean over replayed rounds."""
    measured, columns = sum(round_.measured for round_ in replayed) / len(replayed), []
    for title, setting in settings.items():
        found = lemma_terms(setting, replayed)
        terms = {LEMMA_1[name]: float(term.mean()) for name, term in found.items()}
        columns.append(BoundColumn(title, len(replayed), terms, measured))
    return BoundTable("Lemma 1, the air in (32): the same error as printed", columns, applies)


def _column_33(title: str, s: Printed, replayed: list[ReplayedRound], measured: float) -> BoundColumn:
    """Bound (33) by cause: what is left of the start, errors of the air, local steps."""
    rate, _, _ = _series(replayed)
    shrink = theory.contraction_31(s, rate)
    start = s.start_sq
    air = local = 0.0
    each = torch.stack(list(lemma_terms(s, replayed).values())).sum(dim=0)
    for x, heard, learnt in zip(shrink, each, theory.learning_32(s, rate), strict=True):
        start, air, local = float(x * start), float(x * air + heard), float(x * local + learnt)
    terms = {"distance at the start": start, "errors of the air": air, "local steps": local}
    return BoundColumn(title, len(replayed), {name: s.smoothness / 2 * term for name, term in terms.items()}, measured)


def _conditions(replayed: list[ReplayedRound], setting: Printed, values: dict[str, float]) -> list[Condition]:
    mu, steps = values["convexity"], setting.tau * setting.iterations
    most = max(round_.lr for round_ in replayed)
    first = replace(setting, gradient_sq=1.0)
    signal = float(lemma_terms(first, replayed)["signal"][0])
    scale = (replayed[0].lr * setting.iterations * setting.tau) ** 2
    return [
        Condition("Theorem 1: eta(t) <= min(1, 1/(mu tau I))", most, min(1.0, 1 / (mu * steps)) if mu > 0 else 1.0),
        Condition("Assumption 1: F is strongly convex, mu > 0", mu, 0.0, ">"),
        Condition("Lemma 1: mean of A(m1,m2,c1,c2) >= 0", signal / scale, 0.0, ">="),
    ]


def _notes(run: StoredRun, replayed: list[ReplayedRound], own: Normaliser) -> list[str]:
    """Notes on where the run deviates from the theorem's assumptions."""
    notes, rule = [], run.sim.rule
    if rule.optimiser != "sgd" or rule.momentum or rule.prox:
        notes.append(f"local steps are {rule.optimiser}, not the plain SGD of (27): G^2 is that of the changes sent")
    if len({round_.steps for round_ in replayed} | {round_.fewest for round_ in replayed}) > 1:
        notes.append("local steps differ: tau is the largest number")
    if own == "mean":
        notes.append("the run divides by the mean of the gains; the paper prints their sum, which shrinks every change")
    else:
        notes.append("the run divides by the sum of the gains, as printed: every hop shrinks the change, Lemma 3 fails")
    if len(run.sim.hops) == 1:
        notes.append("one hop: a limit of (32) with an error-free second hop, which the paper does not print")
    if run.spec.plain["data"]["stream"]["kind"] != "static":
        notes.append("the data changes: F is the loss on the data at the start of a round")
    return notes


WHFL = Paper(NAME, SYMBOLS, uncovered, assess)
