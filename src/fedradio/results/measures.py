"""Measures: single numbers of a run, such as ``measure("accuracy@50")(run)``.

The measure's option follows ``@``: a round, a number of guesses, or a level. None means undefined: the run is too
short, the round was not evaluated, the level was never reached, or the run has no such quantity.
:func:`paired_measure` gives measures of one run against another, such as ``crossing@0.98``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Literal

import numpy as np

from fedradio.core.contracts.records import EvaluationRecord, ExchangeRecord
from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.data.popular import popular_of
from fedradio.results.quantities import QUANTITIES
from fedradio.results.run import Curve, Run
from fedradio.spec.build import build

FIRST_ROUNDS = ("rounds_to", "settled", "loss_settled", "crossing")
"""Measures that are the first round from which something is so: a run that never gets there has a bound, its length."""

Measure = Callable[[Run], float | None]
PairedMeasure = Callable[[Run, Run], float | None]
Option = Literal["round", "guesses", "level"]


@dataclass(frozen=True)
class MeasureKind:
    """How a measure is taken from a run. ``option``: what may follow ``@``; ``needed``: whether it is required."""

    take: Callable[[Run, float | None], float | None]
    about: str
    option: Option | None = None
    needed: bool = False


def measure(name: str) -> Measure:
    """The measure of that name; raises :class:`SpecError` for unknown names and wrong options."""
    stem, sign, text = name.partition("@")
    if stem not in MEASURES:
        remedy = suggest(stem, list(MEASURES)) or f"one of: {', '.join(MEASURES)}"
        raise SpecError(Problem("measure", "no such measure", remedy, name))
    kind = MEASURES[stem]
    if bool(sign) if kind.option is None else kind.needed and not sign:
        remedy = f"{stem}@{EXAMPLES[kind.option]}" if kind.option else stem
        raise SpecError(Problem("measure", "takes no option" if sign else "needs an option", remedy, name))
    option = _option(name, text, kind.option) if kind.option and sign else None
    return lambda run: kind.take(run, option)


def is_first_round(name: str) -> bool:
    """Whether the measure of that name is a round that a run may not reach."""
    return name.partition("@")[0] in FIRST_ROUNDS


def paired_measure(name: str) -> PairedMeasure:
    """A measure of one run against another, ``crossing`` or ``crossing@SHARE``; raises :class:`SpecError` for others.

    ``crossing`` is the first round from which the run keeps at least that share of the other's accuracy (all of it by
    default), over the rounds that were evaluated in both; None if it never does.
    """
    stem, sign, text = name.partition("@")
    if stem != "crossing":
        raise SpecError(Problem("measure", "no such measure of two runs", "crossing, such as crossing@0.98", name))
    share = _option(name, text, "level") if sign else 1.0

    def take(run: Run, other: Run) -> float | None:
        one, two = run.curve(), other.curve()
        return None if one is None or two is None else crossing(one, two, share)

    return take


def crossing(one: Curve, other: Curve, share: float = 1.0) -> float | None:
    """The first ``x`` from which ``one >= share * other`` holds, over the ``x`` of both curves; None if there is none.

    By hand: .1 .4 .6 .5 at rounds 1 to 4 against .3 .3 .5 .5 keeps up from round 2 on.
    """
    x, at, other_at = np.intersect1d(one[0], other[0], return_indices=True)
    if len(x) == 0:
        return None
    below = np.flatnonzero(one[1][at] < share * other[1][other_at])
    first = int(below[-1]) + 1 if len(below) else 0
    return float(x[first]) if first < len(x) else None


EXAMPLES: dict[Option, str] = {"round": "50", "guesses": "8", "level": "0.95"}
"""An example of every kind of option, for remedies."""


def _option(name: str, text: str, option: Option) -> float:
    """The option after ``@`` as a number: a level is a share, anything else a whole number."""
    try:
        number = float(text) if option == "level" else float(int(text))
        fits = 0 < number < 1 if option == "level" else number >= 1
    except ValueError:
        fits = False
    if not fits:
        remedy = f"such as {name.partition('@')[0]}@{EXAMPLES[option]}"
        raise SpecError(
            Problem(
                "measure", f"the option is not a {'number of guesses' if option == 'guesses' else option}", remedy, name
            )
        )
    return number


def _metrics(run: Run, at: float | None) -> dict[str, float]:
    """Metrics of the last evaluation, or of the one after round ``at``; empty if there is none."""
    records = [record for record in run.evaluations if at is None or record.round == at]
    return records[-1].metrics if records else {}


def _classified(run: Run) -> list[EvaluationRecord]:
    """The evaluations that have an accuracy; none where values are predicted."""
    return [record for record in run.evaluations if "accuracy" in record.metrics]


def _metric(name: str, about: str, times: float = 1.0) -> MeasureKind:
    """Measure of a metric of an evaluation, times a factor."""

    def take(run: Run, at: float | None) -> float | None:
        value = _metrics(run, at).get(name)
        return None if value is None else times * float(value)

    return MeasureKind(take, f"{about} at the end, or after a round", "round")


def _spent(against: str, about: str) -> MeasureKind:
    """Measure of what was spent: seconds, joules or bits."""

    def take(run: Run, at: float | None) -> float | None:
        totals = run.totals(against)
        if totals is None or (at is not None and at > len(totals)):
            return None
        return float(totals[-1 if at is None else int(at) - 1])

    return MeasureKind(take, f"{about} of the whole run, or up to a round", "round")


def _best(run: Run) -> dict[str, float]:
    """Metrics of the evaluation with the best accuracy; empty if there is none."""
    return {} if run.best is None else run.best.metrics


def _of_best(name: str, about: str) -> MeasureKind:
    """Measure of a metric of the best evaluation."""
    return MeasureKind(lambda run, _: _best(run).get(name), about)


def _best_round(run: Run, _: float | None) -> float | None:
    """The round of the best evaluation."""
    return None if run.best is None else float(run.best.round)


def _of_bayes(run: Run, _: float | None) -> float | None:
    """Best accuracy over the best possible one; None where that is unknown."""
    best = _best(run)
    return best["accuracy"] / best["bayes"] if best.get("bayes") else None


def _top(run: Run, guesses: float | None) -> float | None:
    """Top-``guesses`` accuracy of the last evaluation."""
    name = "accuracy" if guesses == 1 else f"top_{int(guesses or 1)}_accuracy"
    return _metrics(run, None).get(name)


def _rounds_to(run: Run, level: float | None) -> float | None:
    """The first evaluated round with that accuracy; None if it was never reached."""
    reached = [record.round for record in _classified(run) if record.metrics["accuracy"] >= (level or 0.0)]
    return float(min(reached)) if reached else None


def _settled(run: Run, share: float | None) -> float | None:
    """The first evaluated round from which accuracy keeps a share of the best; None if that is the last one."""
    records, enough = _classified(run), (share or 0.0) * _best(run).get("accuracy", 0.0)
    below = max((number for number, record in enumerate(records) if record.metrics["accuracy"] < enough), default=-1)
    return float(records[below + 1].round) if below + 2 < len(records) else None


def _late(run: Run, first: float | None) -> list[float]:
    """Accuracies in percent of all evaluations from round ``first`` on; empty if the run is shorter."""
    return [100.0 * record.metrics["accuracy"] for record in _classified(run) if record.round >= (first or 0.0)]


def _mean(run: Run, first: float | None) -> float | None:
    """Mean accuracy in percent over the evaluations from a round on."""
    late = _late(run, first)
    return fmean(late) if late else None


def _wobble(run: Run, first: float | None) -> float | None:
    """Root mean square change in accuracy, in points, from one evaluation to the next, from a round on; a slow rise
    hardly counts. None with fewer than two evaluations."""
    late = _late(run, first)
    return fmean((after - before) ** 2 for before, after in pairwise(late)) ** 0.5 if len(late) > 1 else None


def _loss_settled(run: Run, share: float | None) -> float | None:
    """The first evaluated round from which the test loss stays at most the lowest loss divided by the share; None if
    that is the last one. By hand, share .8: 4, 2, 1.2, 1, 1.1 is at most 1/.8 from the third on."""
    records = run.evaluations
    if not records:
        return None
    most = min(record.metrics["loss"] for record in records) / (share or 1.0)
    above = max((number for number, record in enumerate(records) if record.metrics["loss"] > most), default=-1)
    return float(records[above + 1].round) if above + 2 < len(records) else None


def _top_popular(run: Run, guesses: float | None) -> float | None:
    """Accuracy of always guessing the most popular file or files, whatever was requested before."""
    if guesses is None or guesses == 1:
        return _metrics(run, None).get("top_popular")
    found = popular_of(build(run.spec).stream, int(guesses))
    return None if found is None else float(found.accuracy[-1])


def _second_half(run: Run) -> list[float]:
    """Accuracies of the evaluations after the first half of the rounds."""
    records = _classified(run)
    return [record.metrics["accuracy"] for record in records if 2 * record.round > records[-1].round]


def _late_gain(run: Run, _: float | None) -> float | None:
    """Accuracy at the end minus that of the last evaluation in the first half; None without one."""
    records = _classified(run)
    before = [record.metrics["accuracy"] for record in records if 2 * record.round <= records[-1].round]
    return records[-1].metrics["accuracy"] - before[-1] if before else None


def _fluctuation(run: Run, _: float | None) -> float | None:
    """Standard deviation of the accuracy over the evaluations of the second half; None for fewer than two."""
    late = _second_half(run)
    return pstdev(late) if len(late) > 1 else None


def _tx_power(run: Run, uses: bool) -> float | None:
    """Mean of the clients' ``P^2 |x|^2`` over clients and edge rounds, of a symbol or of the whole vector (times its
    channel ``uses``); those who did not send count 0."""
    total, records = 0.0, [record for record in run.records(ExchangeRecord) if record.hop == 0]
    for record in records:
        note, symbols = record.notes.get("tx_power"), record.uses if uses else 1.0
        if note is None or symbols is None:
            return None
        total += symbols * sum(map(float, note.values))
    return total / (len(records) * run.clients) if records else None


def _of_cache(name: str, about: str) -> MeasureKind:
    """Measure of the first placement over the whole run."""
    return MeasureKind(lambda run, _: QUANTITIES[name].of(run), f"{about}, of the first placement over the whole run")


MEASURES: dict[str, MeasureKind] = {
    "accuracy": _metric("accuracy", "test accuracy"),
    "accuracy_percent": _metric("accuracy", "test accuracy in percent", times=100.0),
    "rmse": _metric("rmse", "root mean square error, where values are predicted,"),
    "best_rmse": _of_best("rmse", "lowest root mean square error over rounds"),
    "loss": _metric("loss", "test loss"),
    "spread": _metric("accuracy_spread", "standard deviation of the accuracy over clients"),
    "global_accuracy": _metric("global_accuracy", "accuracy of the shared model alone"),
    "local_accuracy": _metric("local_accuracy", "accuracy of the clients' own models alone"),
    "bayes": _metric("bayes", "best possible accuracy of this world"),
    "top_popular": MeasureKind(
        _top_popular, "accuracy of always guessing the most popular file, or the given number of files", "guesses"
    ),
    "best_accuracy": _of_best("accuracy", "best test accuracy over rounds"),
    "best_round": MeasureKind(_best_round, "the first round of the best accuracy"),
    "loss_at_best": _of_best("loss", "test loss where the accuracy is best"),
    "of_bayes": MeasureKind(_of_bayes, "best test accuracy as a share of the best possible"),
    "top": MeasureKind(_top, "accuracy at the end with the given number of guesses", "guesses", needed=True),
    "rounds_to": MeasureKind(_rounds_to, "the first evaluated round with the given accuracy", "level", needed=True),
    "settled": MeasureKind(
        _settled,
        "the first evaluated round from which the given share of the best accuracy is kept",
        "level",
        needed=True,
    ),
    "loss_settled": MeasureKind(
        _loss_settled,
        "the first evaluated round from which the loss stays at most the lowest loss divided by the given share",
        "level",
        needed=True,
    ),
    "late_gain": MeasureKind(_late_gain, "test accuracy at the end minus that after half of the rounds"),
    "fluctuation": MeasureKind(_fluctuation, "standard deviation of the accuracy over the second half of the rounds"),
    "mean_percent": MeasureKind(_mean, "mean test accuracy in percent over all evaluations from a round on", "round"),
    "wobble": MeasureKind(_wobble, "typical change in accuracy, in points, from one evaluation to the next", "round"),
    "energy_j": _spent("joules", "joules"),
    "time_s": _spent("seconds", "simulated seconds"),
    "bits": _spent("bits", "uplink bits"),
    "hit_ratio": _of_cache("hit_ratio", "share of the requests served by a cache"),
    "net_bits": _of_cache("net_bits", "backhaul bits of files, control and learning"),
    "payback": _of_cache("payback", "the first round from which learning has paid for its own backhaul"),
    "tx_power": MeasureKind(
        lambda run, _: _tx_power(run, uses=False), "mean power of the clients' symbols, if they are analogue"
    ),
    "tx_power_vector": MeasureKind(
        lambda run, _: _tx_power(run, uses=True), "mean power of the clients' whole vectors, if they are analogue"
    ),
}
"""Every measure by its name."""
