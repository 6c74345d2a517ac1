"""What a paper's theorem says about a run: its bound on the run's own records, beside what the run did."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from fedradio.algorithms.fedavg import FedAvg
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_sum
from fedradio.papers.bounds.coverage import refuse_weights, uncovered
from fedradio.papers.bounds.replay import Seen, StoredRun, Tell, participation, replay, replayed_run
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

SYMBOLS = {
    "smoothness": "beta",
    "variance": "sigma^2",
    "client_divergence": "eps_0^2",
    "edge_divergence": "eps_1^2",
    "gap": "f(w0) - f_inf",
}
"""Constants that can be given instead of estimated, and how the paper writes them."""


@dataclass(frozen=True)
class Constant:
    """A number that the theorem assumes, and where it is from."""

    name: str
    symbol: str
    value: float
    source: str


@dataclass(frozen=True)
class Column:
    """The bound over some rounds, and the mean of ``|grad f(w^k)|^2`` over the same rounds where it was measured."""

    title: str
    rounds: int
    bound: Bound
    measured: float | None

    @property
    def holds(self) -> bool | None:
        return None if self.measured is None else self.measured <= self.bound.total


@dataclass(frozen=True)
class Assessment:
    """A theorem on a run as plain data: learning ``rates`` by what they are; it ``applies`` at the run's own or not."""

    paper: str
    title: str
    constants: list[Constant]
    columns: list[Column]
    rates: dict[str, float]
    applies: bool
    notes: list[str] = field(default_factory=list)


def assess(
    folder: Path,
    *,
    paper: str = "rawhfl",
    rounds: int = 3,
    given: Mapping[str, float] | None = None,
    tell: Tell = lambda _what, _share: None,
) -> Assessment:
    """Evaluate a paper's theorem on a run folder.

    The first ``rounds`` rounds are replayed to estimate what is not ``given`` (see :data:`SYMBOLS`) and to measure what
    the theorem bounds. A run that the theorem does not cover raises :class:`SpecError` with every reason.
    """
    if paper not in PAPERS:
        raise SpecError(Problem("--paper", "no theorem of that name", f"one of: {', '.join(PAPERS)}", paper))
    _refuse_given(given or {}, rounds)
    tell("reading the run", 0.0)
    return PAPERS[paper](replayed_run(folder), rounds, dict(given or {}), tell)


def _rawhfl(run: StoredRun, rounds: int, given: dict[str, float], tell: Tell) -> Assessment:
    """RawHFL, Theorem 1. ``f`` is (18); local steps are SGD updates; a flat network is one edge."""
    averaging = run.sim.algorithm
    problems = uncovered(run)
    if problems or not isinstance(averaging, FedAvg):
        raise SpecError(problems)
    part, busy = participation(run, averaging)
    refuse_weights(part, averaging, run)
    seen = replay(run, part, busy, min(rounds, len(run.exchanges)), tell, probe="smoothness" not in given)
    lossy = bool((part.p_sc < 1).any())
    if not seen and (lossy or set(given) != set(SYMBOLS)):
        reason = "no round in which somebody trained was replayed, so nothing can be estimated"
        remedy = "replay more rounds" if lossy else "replay more rounds, or give every constant"
        raise SpecError(Problem("--replay", reason, remedy, rounds))
    if lossy:
        part = replace(part, gradient_sq=_power(seen) * part.steps)
    constants, gap, rows = _constants(seen, given, everything=len(seen) == part.rounds)
    lr, columns = run.sim.rule.lr, []
    if seen:
        first = part.only(slice(len(seen)))
        drops = torch.tensor([one.drop for one in seen], dtype=torch.float64)
        measured = sum(one.norm_sq for one in seen) / len(seen)
        columns.append(Column("replayed", len(seen), bound_21(first, constants, lr, drops), measured))
    if len(seen) < part.rounds or "gap" in given:
        whole = bound_21(part, constants, lr, even_drops(gap, part.rounds))
        columns.append(Column("whole run", part.rounds, whole, None))
    printed, needed = rate_limits(constants.smoothness, part.edge_rounds, part.most_steps)
    steps = float(part.omega.sum())
    rates = {
        "rate of the run": lr,
        "limit as printed": printed,
        "limit in the proof of Lemma 2": needed,
        "best rate by (27)": rate_27(max(gap, 0.0), constants.smoothness, constants.variance, steps, spread(part)),
    }
    if gap > 0:
        rates["best rate by (21)"] = best_rate(part, constants, gap)
    notes = _rate_notes(lr, printed, needed, columns) + _run_notes(run, part, seen)
    title = "Theorem 1, eq. (21): mean of |grad f(w^k)|^2 over rounds"
    return Assessment("rawhfl", title, rows, columns, rates, lr < printed, notes)


PAPERS: dict[str, Callable[[StoredRun, int, dict[str, float], Tell], Assessment]] = {"rawhfl": _rawhfl}
"""Theorems by paper."""


def _constants(seen: list[Seen], given: dict[str, float], everything: bool) -> tuple[Constants, float, list[Constant]]:
    """Given constants, else the largest ones seen; the gap from its own drops where all rounds were replayed."""
    names = [name for name in SYMBOLS if name != "gap"]
    values = {name: max((getattr(one.constants, name) for one in seen), default=0.0) for name in names}
    source = dict.fromkeys(names, f"estimated: largest of {len(seen)} replayed round(s)")
    if everything:
        values["gap"], source["gap"] = sum(one.drop for one in seen), "measured: f(w0) - f(wK)"
    elif seen:
        values["gap"], source["gap"] = seen[0].loss, "estimated: f(w0), since cross entropy is not negative"
    values |= given
    source |= dict.fromkeys(given, "given")
    rows = [Constant(name, symbol, values[name], source[name]) for name, symbol in SYMBOLS.items()]
    gap = values.pop("gap")
    return Constants(**values), gap, rows


def _power(seen: list[Seen]) -> torch.Tensor:
    """``E|g_u|^2 [U]`` at the replayed rounds' start, the mean over rounds; over clients for those never seen."""
    power = torch.stack([one.power for one in seen])
    return torch.where(power.isnan().all(dim=0), power.nanmean(), power.nanmean(dim=0))


def _refuse_given(given: Mapping[str, float], rounds: int) -> None:
    problems = [
        Problem(f"--{name.replace('_', '-')}", "must be a finite number, not negative", value=value)
        for name, value in given.items()
        if not (math.isfinite(value) and value >= 0)
    ]
    if rounds < 0:
        problems.append(Problem("--replay", "must be 0 or more", value=rounds))
    if problems:
        raise SpecError(problems)


def _rate_notes(lr: float, printed: float, needed: float, columns: list[Column]) -> list[str]:
    """Whether the theorem speaks at this rate, and whether what it says is true of the run."""
    said = []
    if lr >= printed:
        said.append(f"the rate {lr:g} is not below the printed limit {printed:.3g}: the theorem claims nothing here")
    elif lr >= needed:
        said.append(f"the rate {lr:g} is below the printed limit, not below the one its proof needs ({needed:.3g})")
    return said + [
        f"measured {column.measured:.4g} exceeds the bound {column.bound.total:.4g} ({column.title})"
        for column in columns
        if column.holds is False
    ]


def _run_notes(run: StoredRun, part: Shares, seen: list[Seen]) -> list[str]:
    """Where the run is not quite what the theorem describes."""
    said = []
    trained = part.steps[part.alpha_u > 0]
    fewest, most = int(trained.min()), int(trained.max())
    if fewest != most:
        bias = f", here {sum(one.bias for one in seen) / len(seen):.3g} on average" if seen else ""
        said.append(f"local steps differ ({fewest} to {most}): the bound leaves out the bias of unequal steps{bias}")
    if bool((part.p_sc < 1).any()):
        lowest = float(part.p_sc.min())
        said.append(f"p_sc is the share of a client's payloads that arrived in the whole run; lowest {lowest:.3g}")
    elif any(row["active"] != row["arrived"] for rows in run.exchanges for row in rows if row["hop"] == 0):
        said.append("payloads were lost; weights are shares of the arrived, who count as the selected clients")
    present = group_sum(part.alpha_u.flatten(0, 1).T, part.edge, part.alpha_b.shape[1])  # [B, K E]
    if bool((present <= 0).any()):
        said.append("some edges had no client in some edge rounds, where the theorem wants at least one")
    if idle := len(run.exchanges) - part.rounds:
        said.append(f"{idle} round(s) in which nobody trained are left out")
    if run.spec.plain["data"]["stream"]["kind"] != "static":
        said.append("the data changes: f is the loss on the data at a round's beginning, and its drops do not add up")
    return said
