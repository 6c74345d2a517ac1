"""Measures what runs and studies of published items cost, and writes ``published/costs.json``, from which estimates
begin on a machine that has made none of them.

``python tools/costs.py [--budget 3600]``: of every source, some rounds are run in memory, with one thread, until two
rounds and half a second of CPU time are spent (at most ten rounds); the table holds the CPU seconds of one seed in
full. Of a study, the share that is done after two seconds counts. Sources that this version has measured on this
processor stay as they are. After ``--budget`` CPU seconds, those left take the CPU seconds of their shipped result,
else the mean of their neighbours, and are listed under ``estimated``, to be measured by the next call. The data sets
mnist and cifar10 must be on this machine.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import mean

from fedradio.core.contracts import RoundRecord
from fedradio.core.files import read_json, write_json
from fedradio.papers.plan import Unit, group, plan_reproduction
from fedradio.papers.published import items
from fedradio.papers.scales import SCALES
from fedradio.papers.shipped import shipped_results
from fedradio.papers.studies import SAME_PLAN, STUDIES
from fedradio.papers.studies.planned import forget_plans
from fedradio.runs.run import Observer, run
from fedradio.runs.speed import machine, measured_speed
from fedradio.spec.spec import Spec

TABLE = Path(__file__).resolve().parents[1] / "src" / "fedradio" / "published" / "costs.json"

LEAST_S, MOST_ROUNDS = 0.5, 10
"""A trial ends after this many CPU seconds, but not before the second round, or after this many rounds."""

STUDY_S = 2.0
"""CPU seconds after which a study is stopped; its cost follows from the share that is done."""


class Enough(Exception):
    """The trial has measured enough."""


class Trial(Observer):
    """CPU seconds of every round, and whether it evaluated."""

    def __init__(self) -> None:
        self.rounds: list[tuple[float, bool]] = []
        self.at_s = time.process_time()

    def recorded(self, record: RoundRecord, exchanges: object) -> None:
        now = time.process_time()
        self.rounds.append((now - self.at_s, record.evaluation is not None))
        spent = sum(cpu_s for cpu_s, _ in self.rounds)
        if len(self.rounds) >= 2 and len(self.rounds) % 2 == 0 and spent >= LEAST_S:
            raise Enough
        self.at_s = time.process_time()

    def started(self, *_: object) -> None:
        self.at_s = time.process_time()


def run_s(spec: Spec) -> float:
    """CPU seconds of all rounds of a run, from a few that evaluate every second time."""
    trial = Trial()
    few = Spec(spec.plain | {"rounds": min(spec.rounds, MOST_ROUNDS), "eval_every": 2})
    with suppress(Enough):
        run(few, workers=1, observer=trial)
    speed = measured_speed(trial.rounds)
    return 0.0 if speed is None else speed.run_s(spec.rounds, spec.eval_every)


def study_s(name: str, spec: Spec) -> float:
    """CPU seconds of a study, from the share that is done after :data:`STUDY_S`."""
    forget_plans()  # another study's plan of the same spec would cost nothing
    began, done = time.process_time(), 0.0

    def progress(share: float) -> None:
        nonlocal done
        done = share
        if 0.0 < share < 1.0 and time.process_time() - began > STUDY_S:
            raise Enough

    try:
        STUDIES[name](spec, progress)
        done = 1.0
    except Enough:
        pass
    return (time.process_time() - began) / done


def in_order(units: Mapping[str, Unit], measured: Mapping[str, float]) -> list[str]:
    """The units that are left: those with only far neighbours first, then the cheapest by what is known."""
    known = {place for label in measured for place in neighbourhoods(units[label])}
    costs = filled(units, measured)

    def rank(label: str) -> tuple[int, float]:
        *_, spec, plain_spec, _, plain_folder, _ = neighbourhoods(units[label])
        nearest = [plain_folder in known, plain_spec in known, spec in known]
        return sum(nearest), costs[label]

    return sorted(costs, key=rank)


def wanted() -> dict[str, Unit]:
    """One unit of every source and study of the published items, by its label without the seed."""
    plans = [plan_reproduction(item, scale, 1) for scale in SCALES for item in items()]
    return {group(unit.work): unit.work for plan in plans for unit in plan.units}


def filled(units: Mapping[str, Unit], measured: Mapping[str, float]) -> dict[str, float]:
    """The costs of those not measured: a shipped result's, else the mean of the nearest that were measured."""
    shipped = {
        made.label: made.cpu_s / len(made.seeds)
        for result in shipped_results().values()
        for made in result.made
        if made.cpu_s is not None and made.seeds
    }
    means: dict[tuple[str, ...], list[float]] = {}
    for label, cpu_s in measured.items():
        for place in neighbourhoods(units[label]):
            means.setdefault(place, []).append(cpu_s / rounds_of(units[label]))
    found = {}
    for label, unit in units.items():
        near = next((means[place] for place in neighbourhoods(unit) if place in means), [0.0])
        found[label] = shipped.get(label, rounds_of(unit) * mean(near))
    return {label: cpu_s for label, cpu_s in found.items() if label not in measured}


@functools.cache
def rounds_of(unit: Unit) -> int:
    """Edge rounds of a run, by which neighbours are compared; 1 for a study."""
    if unit.study is not None:
        return 1
    spec = unit.source.load(1)
    return spec.rounds * spec.edge_rounds


def neighbourhoods(unit: Unit) -> list[tuple[str, ...]]:
    """Where to look for units that cost about the same, nearest first: the same plan, the same spec, specs of the same
    folder, the same study. Specs and folders whose names differ by digits alone are neighbours too."""
    spec, study = str(unit.source.spec), unit.study or "run"
    folder = spec.rpartition("/")[0]
    plans = [("plan", spec, *unit.source.set)] if study in ("energy_optional", *SAME_PLAN) else []
    return [*plans, *((study, place) for place in (spec, _plain(spec), f"{folder}/", f"{_plain(folder)}/")), (study,)]


def _plain(text: str) -> str:
    """A name without its digits."""
    return re.sub(r"\d", "", text)


def main() -> int:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=7200.0, help="CPU seconds after which the rest is estimated")
    options = parser.parse_args()
    units, stored = wanted(), read_json(TABLE)
    of_now = stored.get("machine") == machine()
    skip = set(stored.get("estimated", ()))
    measured = {k: v for k, v in stored.get("cpu_s", {}).items() if of_now and k in units and k not in skip}
    while (order := in_order(units, measured)) and time.process_time() < options.budget:
        unit = units[order[0]]
        spec = unit.source.load(1)
        cpu_s = run_s(spec) if unit.study is None else study_s(unit.study, spec)
        measured[order[0]] = float(f"{cpu_s:.3g}")
        write(units, measured)
        print(f"{time.process_time():7.0f} s  {measured[order[0]]:10.4g}  {order[0]}", flush=True)
    write(units, measured)
    return 0


def write(units: Mapping[str, Unit], measured: Mapping[str, float]) -> None:
    """Write the table with what is measured so far."""
    rest = {label: float(f"{cpu_s:.3g}") for label, cpu_s in filled(units, measured).items()}
    costs = dict(sorted({**measured, **rest}.items()))
    write_json(TABLE, {"machine": machine(), "cpu_s": costs, "estimated": sorted(rest)})


if __name__ == "__main__":
    sys.exit(main())
