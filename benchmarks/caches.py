"""What caches add to a run: ``python benchmarks/caches.py [SPEC ...] [--rounds 8] [--repeats 3]``.

CPU seconds of the rounds of a spec with its caches and without, evaluations included, the two taking turns in one
process on one thread; the median of the repeats and its ratio. Caches of `rawhfl_cache` may add a tenth. About two
minutes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

MOST = {"rawhfl_cache": 1.10}
"""Largest ratio of CPU seconds, by spec."""


def cpu_s(sim: Simulation, rounds: int) -> float:
    """CPU seconds of so many rounds from the start."""
    state = begin(sim)
    began = time.process_time()
    for _ in range(rounds):
        state, _, _ = run_round(sim, state)
    return time.process_time() - began


def measured(spec: str, rounds: int, repeats: int) -> tuple[list[float], list[float]]:
    """CPU seconds without caches and with them, in turn, after a first round to warm up."""
    sim = build(load_spec(spec), workers=1)
    bare = replace(sim, cache=None)
    cpu_s(sim, 1)
    pairs = [(cpu_s(bare, rounds), cpu_s(sim, rounds)) for _ in range(repeats)]
    return [one for one, _ in pairs], [two for _, two in pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("specs", nargs="*", default=["rawhfl_cache", "osafl_cache"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    table = Table("spec", "CPU s without", "CPU s with", "ratio", "at most")
    slow = False
    for spec in options.specs:
        bare, cached = measured(spec, options.rounds, options.repeats)
        one, two = statistics.median(bare), statistics.median(cached)
        most = MOST.get(spec)
        slow |= most is not None and two / one > most
        table.add_row(spec, f"{one:.2f}", f"{two:.2f}", f"{two / one:.3f}", "-" if most is None else f"{most:.2f}")
    Console().print(table)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
