"""RawHFL's Theorem 1, bound (21), on a run: the run's own shares and steps, gradients of its replayed rounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Averaging, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_sum
from fedradio.core.progress import Progress, silent
from fedradio.engine.threads import parallel_map
from fedradio.papers.bounds.arrival import is_noted
from fedradio.papers.bounds.assessment import Assessment, BoundColumn, BoundTable, Condition, exceeded
from fedradio.papers.bounds.constants import Estimate, largest, settle
from fedradio.papers.bounds.coverage import algorithm_problem, model_problems, network_problems, sgd_problems, why
from fedradio.papers.bounds.paper import Paper
from fedradio.papers.bounds.participation import participation
from fedradio.papers.bounds.replay import StoredRun, client_data, rounds_again
from fedradio.rounds.simulation import Simulation
from fedradio.theory import estimate
from fedradio.theory.rawhfl import (
    Bound,
    Constants,
    Shares,
    best_rate,
    bound_21,
    bound_26,
    corollary_1,
    even_drops,
    rate_27,
    rate_limits,
    spread,
)

NAME = "RawHFL"

FREQUENCY = "the share of a client's payloads that arrived in the whole run"

SYMBOLS = {
    "smoothness": "beta",
    "variance": "sigma^2",
    "client_divergence": "eps_0^2",
    "edge_divergence": "eps_1^2",
    "gap": "f(w0) - f_inf",
}
"""Constants that can be given instead of estimated, and their symbols in the paper."""

TERMS = {
    "gap": "loss gap",
    "variance": "gradient variance",
    "client_divergence": "client-edge divergence",
    "edge_divergence": "edge-global divergence",
    "arrival": "lost payloads",
}
"""Names of the terms of (21)."""

MEANING = """\
Theorem 1 bounds the squared gradient of the loss, averaged over the rounds. Its terms add up to the bound: how far the
loss falls, mini-batch noise, clients that differ from their edge, edges that differ from each other, and lost payloads.
The largest term is the one the theorem blames. The bound is a worst-case guarantee, not a forecast, and is usually far
above the measured value. If a condition fails, it says nothing."""


def uncovered(run: StoredRun) -> list[Problem]:
    """Why RawHFL's Theorem 1 does not cover a run; empty if it is averaging of plain local SGD."""
    averaging, problems = run.sim.algorithm.averaging, []
    if averaging is None:
        problems.append(algorithm_problem(run, NAME, "it is about averages of accumulated gradients", "fedavg"))
    elif averaging.server_lr != 1.0:
        reason = why(NAME, "the mean change must be added unchanged")
        problems.append(Problem("algorithm.server_lr", reason, "server_lr=1", averaging.server_lr))
    if run.sim.rule.prox != 0.0:
        reason = why(NAME, "local steps must have no proximal term")
        problems.append(Problem("algorithm.mu", reason, "algorithm=fedavg", run.sim.rule.prox))
    return problems + sgd_problems(run, NAME) + model_problems(run, NAME) + network_problems(run, NAME, 2)


def refuse_weights(shares: Shares, averaging: Averaging, run: StoredRun) -> None:
    """Refuse weights that do not add up to 1: losses without correction, or absent edges with fixed weights."""
    if not shares.rounds:
        raise SpecError(Problem(str(run.folder), why(NAME, "no client trained in any round")))
    if averaging.normalise == "selected" and bool((shares.p_sc < 1).any()):
        reason = why(NAME, "payloads were lost, and weights over the selected clients do not compensate for it")
        raise SpecError(Problem("algorithm.normalise", reason, "use inverse or arrived", "selected"))
    if bool(((shares.alpha_b.sum(dim=1) - 1).abs() > 1e-6).any()):
        raise SpecError(Problem("hops.1", why(NAME, "edges have fixed weights, but some were absent")))


def assess(run: StoredRun, rounds: int, given: dict[str, float], progress: Progress = silent) -> Assessment:
    """RawHFL's Theorem 1 on a run. ``f`` is (18); local steps are SGD updates; a flat network is one edge."""
    averaging = run.sim.algorithm.averaging
    assert averaging is not None
    shares, trained = participation(run, averaging)
    refuse_weights(shares, averaging, run)
    asked = min(rounds, run.rounds)
    replayed = replay(run, shares, trained, asked, progress, probe="smoothness" not in given)
    lossy = bool((shares.p_sc < 1).any())
    if not replayed and (lossy or set(given) != set(SYMBOLS)):
        reason = "no replayed round had any training, so nothing can be estimated"
        remedy = "replay more rounds" if lossy else "replay more rounds, or give every constant"
        raise SpecError(Problem("--replay", reason, remedy, rounds))
    if lossy:
        shares = replace(shares, gradient_sq=_power(replayed) * shares.steps)
    values, rows = settle(SYMBOLS, _estimates(replayed, everything=len(replayed) == shares.rounds), given)
    gap = values.pop("gap")
    constants, lr, columns = Constants(**values), run.sim.rule.lr, []
    if replayed:
        first = shares.only(slice(len(replayed)))
        drops = torch.tensor([round_.drop for round_ in replayed], dtype=torch.float64)
        measured = sum(round_.norm_sq for round_ in replayed) / len(replayed)
        columns.append(_column("replayed", len(replayed), bound_21(first, constants, lr, drops), measured))
    if len(replayed) < shares.rounds or "gap" in given:
        whole = bound_21(shares, constants, lr, even_drops(gap, shares.rounds))
        columns.append(_column("whole run", shares.rounds, whole, None))
    printed, needed = rate_limits(constants.smoothness, shares.edge_rounds, shares.most_steps)
    conditions = [
        Condition("Theorem 1: eta < min(1/(2 sqrt5 beta L), 1/(beta E L))", lr, printed, "<"),
        Condition("its proof, Lemma 2: eta < 1/(2 sqrt5 beta E L)", lr, needed, "<"),
    ]
    rates = {
        "rate of the run": lr,
        "limit as printed": printed,
        "limit in the proof of Lemma 2": needed,
        "best rate by (27)": rate_27(
            max(gap, 0.0), constants.smoothness, constants.variance, float(shares.omega.sum()), spread(shares)
        ),
    }
    if gap > 0:
        rates["best rate by (21)"] = best_rate(shares, constants, gap)
    bounds = [BoundTable("(21): mean of |grad f(w^k)|^2 over rounds", columns, conditions[0].holds)]
    if replayed and _equal_steps(first):
        bounds.append(_corollary(first, constants, lr, float(drops.sum()), measured, conditions[0].holds))
    notes = exceeded(bounds) + run_notes(run, shares, replayed)
    return Assessment("rawhfl", "RawHFL, Theorem 1", MEANING, bounds, rows, conditions, rates, notes=notes)


def _equal_steps(part: Shares) -> bool:
    """Whether all clients that took part made the same number of steps."""
    return bool((part.steps[part.alpha_u > 0] == part.most_steps).all())


def _corollary(part: Shares, constants: Constants, lr: float, gap: float, measured: float, applies: bool) -> BoundTable:
    """Corollary 1 for equal steps, and (26), which leaves lost payloads out."""
    found = {"Corollary 1": corollary_1(part, constants, lr, gap), "(26)": bound_26(part, constants, lr, gap)}
    columns = [_column(title, part.rounds, bound, measured) for title, bound in found.items()]
    return BoundTable("Corollary 1 and (26): the same if all clients take the same number of steps", columns, applies)


def _column(title: str, rounds: int, bound: Bound, measured: float | None) -> BoundColumn:
    return BoundColumn(title, rounds, {TERMS[name]: term for name, term in asdict(bound).items()}, measured)


@dataclass(frozen=True)
class ReplayedRound:
    """Measurements of a replayed round k. ``f`` is the loss (18) of its selected clients, the mean over edge rounds.

    ``norm_sq`` is ``|grad f(w^k)|^2``, ``drop`` is ``f(w^k) - f(w^(k+1))``, ``bias`` that of unequal steps, and
    ``power [U]`` the mean square of a client's mini-batch gradients at w^k, NaN for clients that took no part.
    """

    norm_sq: float
    loss: float
    drop: float
    bias: float
    constants: Constants
    power: Tensor


def replay(
    run: StoredRun, shares: Shares, trained: list[int], rounds: int, progress: Progress = silent, probe: bool = True
) -> list[ReplayedRound]:
    """Run the first ``rounds`` rounds again and measure those of them in ``trained``, in which somebody trained.

    ``probe``: search for directions sharper than the run's own, which costs some more gradients of one client.
    """
    replayed = []
    for again in rounds_again(run, rounds, progress):
        if again.t in trained:
            k = trained.index(again.t)
            part = shares.only(slice(k, k + 1))
            replayed.append(_measured(run.sim, part, again.t, again.stream, again.w, again.after, probe))
    return replayed


def _measured(
    sim: Simulation, shares: Shares, t: int, stream: Slots, w: Tensor, after: Tensor, probe: bool
) -> ReplayedRound:
    """Measure a round: full gradients at both ends, mini-batch gradients at its start, on the data of its beginning."""
    ids = shares.alpha[0].sum(dim=0).nonzero().flatten()
    data = client_data(sim, stream, ids, t)

    def client(i: int) -> tuple[float, Tensor, float, Tensor, float, float]:
        x, y = data.samples(i)
        loss, full = estimate.gradient(sim.model, w, x, y)
        later, end = estimate.gradient(sim.model, after, x, y)
        noise, power = [], []
        for batch in data.batches(i):
            gradient = estimate.gradient(sim.model, w, *batch)[1]
            noise.append(estimate.gradient_variance(gradient[None], full))
            power.append(float(estimate.squared_norm(gradient)))
        return loss, full, later, end, sum(noise) / max(len(noise), 1), sum(power) / max(len(power), 1)

    losses, rows, later, ends, noise, power = zip(*parallel_map(client, range(len(ids)), sim.workers), strict=True)
    gradients, moved = torch.stack(rows), float(estimate.squared_norm(after - w).sqrt())
    alpha_b, alpha_u, steps, edge = (
        shares.alpha_b[0],
        shares.alpha_u[0][:, ids],
        shares.steps[0][:, ids],
        shares.edge[ids],
    )
    weight = shares.alpha[0][:, ids].sum(dim=0) / shares.alpha[0].sum()
    ratio = [estimate.smoothness(torch.stack([w, after]), torch.stack(pair)) for pair in zip(rows, ends, strict=True)]
    sharpest = max(range(len(ids)), key=ratio.__getitem__)

    def slope(at: Tensor) -> Tensor:
        return estimate.gradient(sim.model, at, *data.samples(sharpest))[1]

    bend = ends[sharpest] - rows[sharpest]
    probed = estimate.probed_smoothness(slope, w, bend, moved) if probe and moved > 0 else 0.0
    constants = Constants(
        smoothness=max(*ratio, probed),
        variance=max(noise),
        client_divergence=max(
            float(estimate.client_divergence(gradients, alpha, edge, len(alpha_b)).max()) for alpha in alpha_u
        ),
        edge_divergence=max(
            estimate.edge_divergence(gradients, alpha, edge, alpha_b, done)
            for alpha, done in zip(alpha_u, steps, strict=True)
        ),
    )
    power_of = torch.full((len(shares.edge),), torch.nan, dtype=torch.float64)
    power_of[ids] = torch.tensor(power, dtype=torch.float64)
    loss = float(weight @ torch.tensor(losses, dtype=torch.float64))
    return ReplayedRound(
        norm_sq=float(estimate.squared_norm(estimate.mean_gradient(gradients, weight))),
        loss=loss,
        drop=loss - float(weight @ torch.tensor(later, dtype=torch.float64)),
        bias=estimate.step_bias(gradients, shares.alpha[0][:, ids], steps),
        constants=constants,
        power=power_of,
    )


def _estimates(replayed: list[ReplayedRound], everything: bool) -> dict[str, Estimate]:
    """Estimates of the constants: the largest over replayed rounds; the gap from the drops if all were replayed."""
    names = [name for name in SYMBOLS if name != "gap"]
    found = {name: largest([getattr(round_.constants, name) for round_ in replayed], len(replayed)) for name in names}
    if everything:
        found["gap"] = Estimate(sum(round_.drop for round_ in replayed), "measured: f(w0) - f(wK)")
    elif replayed:
        found["gap"] = Estimate(replayed[0].loss, "estimated: f(w0), since cross entropy is not negative")
    return found


def _power(replayed: list[ReplayedRound]) -> torch.Tensor:
    """Mean square of mini-batch gradients ``E|g_u|^2 [U]`` over replayed rounds; the clients' mean for those absent."""
    power = torch.stack([round_.power for round_ in replayed])
    return torch.where(power.isnan().all(dim=0), power.nanmean(), power.nanmean(dim=0))


def run_notes(run: StoredRun, shares: Shares, replayed: list[ReplayedRound]) -> list[str]:
    """Notes on where the run deviates from the theorem's assumptions."""
    notes = []
    trained = shares.steps[shares.alpha_u > 0]
    fewest, most = int(trained.min()), int(trained.max())
    if fewest != most:
        bias = f", here {sum(round_.bias for round_ in replayed) / len(replayed):.3g} on average" if replayed else ""
        notes.append(f"local steps differ ({fewest} to {most}): the bound ignores the bias of unequal steps{bias}")
    if bool((shares.p_sc < 1).any()):
        lowest = float(shares.p_sc.min())
        what = "Pr(t_cp + t_up <= t_th) under the fading" if is_noted(run.exchanges) else FREQUENCY
        notes.append(f"p_sc is {what}; lowest {lowest:.3g}")
    elif any(not all(record.arrived) for records in run.exchanges for record in records if record.hop == 0):
        notes.append(
            "payloads were lost; weights are over the clients that arrived, which are treated as the selected ones"
        )
    present = group_sum(shares.alpha_u.flatten(0, 1).T, shares.edge, shares.alpha_b.shape[1])  # [B, K E]
    if bool((present <= 0).any()):
        notes.append("some edges had no client in some edge rounds, but the theorem assumes at least one")
    if idle := len(run.exchanges) - shares.rounds:
        notes.append(f"{idle} round(s) without training are left out")
    if run.spec.plain["data"]["stream"]["kind"] != "static":
        notes.append(
            "the data changes: f is the loss on the data at the start of a round, so its decreases do not add up"
        )
    return notes


RAWHFL = Paper(NAME, SYMBOLS, uncovered, assess)
