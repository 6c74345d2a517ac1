"""Rounds with many registered clients, 20 of them active: ``python benchmarks/scale.py [--repeat 9]``; half a minute.

Worlds of 100, 10,000 and 100,000 clients with five samples each and a logistic model, in one cell with ideal links, or
in ten cells with a digital uplink, an urban macro channel and devices. All are built, then take turns; CPU seconds of
user and system, one worker, one torch thread. A round includes writing its records, not its evaluation. A ratio is the
median over the turns of a world's seconds over those of its like with 100 clients in the same turn.

Then a run of 1000 rounds with 10,000 clients: bytes of records a round, growth of the resident memory after round 200,
and the CPU of its page over that of reading its records once. Exit code 1 where anything is above its bar.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from against import Plain, Spread
from rich.console import Console
from rich.table import Table

from fedradio import build, check_spec
from fedradio.core.contracts import RoundRecord, SimState
from fedradio.report.page import run_page
from fedradio.results.run import open_run
from fedradio.rounds.round import begin, run_round
from fedradio.runs.folder import RunFolder
from fedradio.runs.records import exchange_row, read_records, round_row
from fedradio.runs.run import Observer, run

ACTIVE, SAMPLES, CELLS = 20, 5, 10
ROUNDS_A_TURN = 5
EARLY, ROUNDS, EVAL_EVERY = 200, 1000, 10
CLIENTS = 10_000
"""Of the long run, and of the bytes of records."""

CPU_BARS = {("flat", 10_000): 3.0, ("flat", 100_000): 10.0, ("cells", 10_000): None, ("cells", 100_000): 25.0}
"""Most CPU of a round, in units of that with 100 clients."""

BYTES_BARS = {"flat": 2000.0, "cells": 8000.0}
"""Most bytes of records a round with 10,000 clients."""

GROWTH_BAR = 10e6
"""Most bytes by which the resident memory grows from round 200 to round 1000."""

PAGE_BAR = 5.0
"""Most CPU of the page, in units of that of reading the records once."""


def flat_world(clients: int) -> Plain:
    """One cell, ideal links, no devices."""
    policy = {"kind": "sampling", "clients": ACTIVE}
    return _world({"kind": "flat", "clients": clients}, [{"policy": policy}], clients)


def cells_world(clients: int) -> Plain:
    """Ten cells with a digital uplink, an urban macro channel and devices; ideal links to the server."""
    topology = {"kind": "hierarchical", "edges": CELLS, "clients_per_edge": clients // CELLS}
    radio = {"channel": "urban_macro", "link": "digital", "fleet": "cellular", "deadline_s": 150.0}
    policy = {"kind": "sampling", "clients": ACTIVE // CELLS}
    return _world(topology, [radio | {"policy": policy}, {"policy": "fixed"}], clients)


def _world(topology: Plain, hops: list[Plain], clients: int) -> Plain:
    images = {"samples": SAMPLES * clients, "test_samples": 100, "height": 4, "width": 4}
    return {
        "topology": topology,
        "hops": hops,
        "data": {"source": {"kind": "synthetic_images", **images}},
        "model": "logistic",
        "rule": {"kind": "sgd", "lr": 0.1, "batch": SAMPLES},
    }


WORLDS: dict[str, Callable[[int], Plain]] = {"flat": flat_world, "cells": cells_world}


class Rounds:
    """Rounds of a world, records included; notes the CPU seconds of a round in every turn."""

    def __init__(self, plain: Plain, folder: Path) -> None:
        self.sim = build(check_spec(plain), workers=1)
        self.state: SimState = begin(self.sim)
        self.folder = RunFolder(folder)
        self.seconds: list[float] = []

    def turn(self, rounds: int = ROUNDS_A_TURN) -> None:
        """So many rounds."""
        began = time.process_time()
        for _ in range(rounds):
            self.state, record, exchanges = run_round(self.sim, self.state, evaluate=False)
            self.folder.append(*map(exchange_row, exchanges), round_row(record))
        self.seconds.append((time.process_time() - began) / rounds)

    def bytes_a_round(self) -> float:
        return self.folder.offset().size / self.state.t


@dataclass
class Memory(Observer):
    """Notes the resident memory of the process after some rounds of a run."""

    at: Sequence[int] = (EARLY, ROUNDS)
    resident: list[int] = field(default_factory=list)

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t in self.at:
            self.resident.append(resident_bytes())


def resident_bytes() -> int:
    """Resident memory of this process, as Linux tells it."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


@dataclass(frozen=True)
class Row:
    """A row of the table: what was measured, in which unit, its value and the most it may be."""

    what: str
    measured: str
    value: float
    bar: float | None

    @property
    def above(self) -> bool:
        return self.bar is not None and self.value > self.bar


def cpu_rows(worlds: Mapping[tuple[str, int], Rounds]) -> list[Row]:
    """CPU of a round of every world beside its like with 100 clients."""
    rows = []
    for (name, clients), world in worlds.items():
        pairs = zip(world.seconds, worlds[name, 100].seconds, strict=True)
        ratio = statistics.median([mine / few for mine, few in pairs])
        milliseconds = f"{Spread.of(world.seconds).text(1e3, 1)} ms"
        rows.append(Row(f"round, {name}, {clients:,} clients", milliseconds, ratio, CPU_BARS.get((name, clients))))
    return rows


def measure_rounds(folder: Path, repeat: int) -> list[Row]:
    """CPU of rounds in turns, and bytes of records."""
    sizes = sorted({100, *(clients for _, clients in CPU_BARS)})
    worlds = {
        (name, clients): Rounds(world(clients), folder / f"{name}-{clients}")
        for name, world in WORLDS.items()
        for clients in sizes
    }
    for world in worlds.values():
        world.turn()  # warms up and does not count
        world.seconds.clear()
    for _ in range(repeat):
        for world in worlds.values():
            world.turn()
    rows = cpu_rows(worlds)
    for name, bar in BYTES_BARS.items():
        size = worlds[name, CLIENTS].bytes_a_round()
        rows.append(Row(f"records, {name}, {CLIENTS:,} clients", "bytes a round", size, bar))
    return rows


def measure_run(folder: Path, name: str, repeat: int) -> list[Row]:
    """Growth of memory in a long run, and the CPU of its page."""
    memory = Memory()
    spec = check_spec(WORLDS[name](CLIENTS) | {"rounds": ROUNDS, "eval_every": EVAL_EVERY})
    run(spec, folder, workers=1, observer=memory)
    early, late = memory.resident
    what = f"{name}, {CLIENTS:,} clients, {ROUNDS:,} rounds"
    once, page = in_turns(lambda: list(read_records(folder)), lambda: run_page(open_run(folder)), repeat)
    ratio = statistics.median([mine / read for read, mine in zip(once, page, strict=True)])
    return [
        Row(f"memory, {what}", f"bytes more than after round {EARLY}", max(0, late - early), GROWTH_BAR),
        Row(f"page, {what}", f"{Spread.of(page).text(1e3, 0)} ms", ratio, PAGE_BAR),
    ]


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeat: int) -> tuple[list[float], list[float]]:
    """CPU seconds of two tasks that take turns; the first turn of each does not count."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat + 1):
        for task, into in zip((first, second), seconds, strict=True):
            began = time.process_time()
            task()
            into.append(time.process_time() - began)
    return seconds[0][1:], seconds[1][1:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9, help="turns of every world")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name in WORLDS for row in measure_run(Path(folder) / f"run-{name}", name, options.repeat)]
        rows = measure_rounds(Path(folder), options.repeat) + rows
    table = Table("what", "median (least to most)", "value", "bar", title=f"medians of {options.repeat} turns")
    for row in rows:
        value, bar = (f"{number:,.3g}" if number < 1e3 else f"{number:,.0f}" for number in (row.value, row.bar or 0.0))
        table.add_row(row.what, row.measured, value, "" if row.bar is None else bar)
    Console(width=120).print(table)
    above = [row.what for row in rows if row.above]
    if above:
        sys.exit(f"above their bars: {'; '.join(above)}")


if __name__ == "__main__":
    main()
