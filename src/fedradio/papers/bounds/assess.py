"""Evaluates a paper's convergence bound on the records of a run, beside what the run did."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_sum
from fedradio.core.progress import Progress, silent
from fedradio.papers.bounds.arrival import is_noted
from fedradio.papers.bounds.coverage import refuse_weights, uncovered
from fedradio.papers.bounds.replay import ReplayedRound, StoredRun, participation, replay, replayed_run
from fedradio.theory.rawhfl import (
    Bound,
    Constants,
    Shares,
    best_rate,
    bound_21,
    even_drops,
    rate_27,
    rate_limits,
    spread,
)

FREQUENCY = "the share of a client's payloads that arrived in the whole run"

SYMBOLS = {
    "smoothness": "beta",
    "variance": "sigma^2",
    "client_divergence": "eps_0^2",
    "edge_divergence": "eps_1^2",
    "gap": "f(w0) - f_inf",
}
"""Constants that can be given instead of estimated, and their symbols in the paper."""


@dataclass(frozen=True)
class Constant:
    """A constant of the theorem, and where its value is from."""

    name: str
    symbol: str
    value: float
    source: str


@dataclass(frozen=True)
class BoundColumn:
    """The bound over some rounds, and the mean of ``|grad f(w^k)|^2`` over the same rounds if it was measured."""

    title: str
    rounds: int
    bound: Bound
    measured: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the measured mean is within the bound; None if it was not measured."""
        return None if self.measured is None else self.measured <= self.bound.total


@dataclass(frozen=True)
class Assessment:
    """A theorem evaluated on a run, as plain data.

    ``rates`` are learning rates by name; ``applies``: the theorem makes a claim at the run's own rate.
    """

    paper: str
    title: str
    constants: list[Constant]
    columns: list[BoundColumn]
    rates: dict[str, float]
    applies: bool
    notes: list[str] = field(default_factory=list)


def assess(
    folder: Path,
    *,
    paper: str = "rawhfl",
    rounds: int = 3,
    given: Mapping[str, float] | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Evaluate a paper's theorem on a run folder.

    The first ``rounds`` rounds are replayed to estimate what is not ``given`` (see :data:`SYMBOLS`) and to measure what
    the theorem bounds. A run that the theorem does not cover raises :class:`SpecError` with every reason.
    """
    if paper not in PAPERS:
        raise SpecError(Problem("--paper", "no theorem of that name", f"one of: {', '.join(PAPERS)}", paper))
    _refuse_given(given or {}, rounds)
    progress("reading the run", 0.0)
    return PAPERS[paper](replayed_run(folder), rounds, dict(given or {}), progress)


def _rawhfl(run: StoredRun, rounds: int, given: dict[str, float], progress: Progress) -> Assessment:
    """RawHFL's Theorem 1 on a run. ``f`` is (18); local steps are SGD updates; a flat network is one edge."""
    averaging = run.sim.algorithm.averaging
    problems = uncovered(run)
    if problems or averaging is None:
        raise SpecError(problems)
    shares, trained = participation(run, averaging)
    refuse_weights(shares, averaging, run)
    asked = min(rounds, len(run.exchanges))
    replayed = replay(run, shares, trained, asked, progress, probe="smoothness" not in given)
    lossy = bool((shares.p_sc < 1).any())
    if not replayed and (lossy or set(given) != set(SYMBOLS)):
        reason = "no round in which somebody trained was replayed, so nothing can be estimated"
        remedy = "replay more rounds" if lossy else "replay more rounds, or give every constant"
        raise SpecError(Problem("--replay", reason, remedy, rounds))
    if lossy:
        shares = replace(shares, gradient_sq=_power(replayed) * shares.steps)
    constants, gap, rows = _constants(replayed, given, everything=len(replayed) == shares.rounds)
    lr, columns = run.sim.rule.lr, []
    if replayed:
        first = shares.only(slice(len(replayed)))
        drops = torch.tensor([round_.drop for round_ in replayed], dtype=torch.float64)
        measured = sum(round_.norm_sq for round_ in replayed) / len(replayed)
        columns.append(BoundColumn("replayed", len(replayed), bound_21(first, constants, lr, drops), measured))
    if len(replayed) < shares.rounds or "gap" in given:
        whole = bound_21(shares, constants, lr, even_drops(gap, shares.rounds))
        columns.append(BoundColumn("whole run", shares.rounds, whole, None))
    printed, needed = rate_limits(constants.smoothness, shares.edge_rounds, shares.most_steps)
    steps = float(shares.omega.sum())
    rates = {
        "rate of the run": lr,
        "limit as printed": printed,
        "limit in the proof of Lemma 2": needed,
        "best rate by (27)": rate_27(max(gap, 0.0), constants.smoothness, constants.variance, steps, spread(shares)),
    }
    if gap > 0:
        rates["best rate by (21)"] = best_rate(shares, constants, gap)
    notes = _rate_notes(lr, printed, needed, columns) + _run_notes(run, shares, replayed)
    title = "Theorem 1, eq. (21): mean of |grad f(w^k)|^2 over rounds"
    return Assessment("rawhfl", title, rows, columns, rates, lr < printed, notes)


PAPERS: dict[str, Callable[[StoredRun, int, dict[str, float], Progress], Assessment]] = {"rawhfl": _rawhfl}
"""The function that evaluates the theorem of each paper."""


def _constants(
    replayed: list[ReplayedRound], given: dict[str, float], everything: bool
) -> tuple[Constants, float, list[Constant]]:
    """The constants: given, else the largest over replayed rounds; the gap from the drops if all were replayed."""
    names = [name for name in SYMBOLS if name != "gap"]
    values = {name: max((getattr(round_.constants, name) for round_ in replayed), default=0.0) for name in names}
    source = dict.fromkeys(names, f"estimated: largest of {len(replayed)} replayed round(s)")
    if everything:
        values["gap"], source["gap"] = sum(round_.drop for round_ in replayed), "measured: f(w0) - f(wK)"
    elif replayed:
        values["gap"], source["gap"] = replayed[0].loss, "estimated: f(w0), since cross entropy is not negative"
    values |= given
    source |= dict.fromkeys(given, "given")
    rows = [Constant(name, symbol, values[name], source[name]) for name, symbol in SYMBOLS.items()]
    gap = values.pop("gap")
    return Constants(**values), gap, rows


def _power(replayed: list[ReplayedRound]) -> torch.Tensor:
    """Mean square of mini-batch gradients ``E|g_u|^2 [U]`` over replayed rounds; the clients' mean for those absent."""
    power = torch.stack([round_.power for round_ in replayed])
    return torch.where(power.isnan().all(dim=0), power.nanmean(), power.nanmean(dim=0))


def _refuse_given(given: Mapping[str, float], rounds: int) -> None:
    """Refuse constants and numbers of rounds that make no sense."""
    problems = [
        Problem(f"--{name.replace('_', '-')}", "must be a finite number, not negative", value=value)
        for name, value in given.items()
        if not (math.isfinite(value) and value >= 0)
    ]
    if rounds < 0:
        problems.append(Problem("--replay", "must be 0 or more", value=rounds))
    if problems:
        raise SpecError(problems)


def _rate_notes(lr: float, printed: float, needed: float, columns: list[BoundColumn]) -> list[str]:
    """Notes on the learning rate: whether the theorem makes a claim at it, and whether the bound holds."""
    notes = []
    if lr >= printed:
        notes.append(f"the rate {lr:g} is not below the printed limit {printed:.3g}: the theorem claims nothing here")
    elif lr >= needed:
        notes.append(f"the rate {lr:g} is below the printed limit, not below the one its proof needs ({needed:.3g})")
    return notes + [
        f"measured {column.measured:.4g} exceeds the bound {column.bound.total:.4g} ({column.title})"
        for column in columns
        if column.holds is False
    ]


def _run_notes(run: StoredRun, shares: Shares, replayed: list[ReplayedRound]) -> list[str]:
    """Notes on where the run deviates from the theorem's assumptions."""
    notes = []
    trained = shares.steps[shares.alpha_u > 0]
    fewest, most = int(trained.min()), int(trained.max())
    if fewest != most:
        bias = f", here {sum(round_.bias for round_ in replayed) / len(replayed):.3g} on average" if replayed else ""
        notes.append(f"local steps differ ({fewest} to {most}): the bound leaves out the bias of unequal steps{bias}")
    if bool((shares.p_sc < 1).any()):
        lowest = float(shares.p_sc.min())
        what = "Pr(t_cp + t_up <= t_th) under the fading" if is_noted(run.exchanges) else FREQUENCY
        notes.append(f"p_sc is {what}; lowest {lowest:.3g}")
    elif any(not all(record.arrived) for records in run.exchanges for record in records if record.hop == 0):
        notes.append("payloads were lost; weights are shares of the arrived, who count as the selected clients")
    present = group_sum(shares.alpha_u.flatten(0, 1).T, shares.edge, shares.alpha_b.shape[1])  # [B, K E]
    if bool((present <= 0).any()):
        notes.append("some edges had no client in some edge rounds, where the theorem wants at least one")
    if idle := len(run.exchanges) - shares.rounds:
        notes.append(f"{idle} round(s) in which nobody trained are left out")
    if run.spec.plain["data"]["stream"]["kind"] != "static":
        notes.append("the data changes: f is the loss on the data at a round's beginning, and its drops do not add up")
    return notes
