"""One table of speed: ``python benchmarks/table.py [--repeat 5] [--only OSAFL]``, what ``make bench`` prints.

Whole rounds, with evaluation and records: W1 (FedAvg, MNIST, 20 clients x 600, MLP 784-200-10), W2 (FedAvg, CIFAR-10,
10 clients x 500, CNN 5x5) and the papers' systems; ours, the same without the ways to save work (equal inputs computed
once, models evaluated once, coordinates), and plain torch. Every round is evaluated, whatever the spec's eval_every.
Then rounds of the papers' size beside their limit, and single parts. A name after a bar, |, says what stands in the
column of plain torch instead. Contenders take turns in one process; medians of CPU milliseconds on one core, where the
row does not say wall time. The share of the peak is the rate of plain torch's products in our time, in units of that of
a product of 1024 x 1024 matrices: above 1 where work is saved. The limit is what the best library needs for the
products and layers of our round at their true shapes (``benchmarks/limit.py``), with the library that has most of it;
then our time in units of the limit. Needs the data sets mnist and cifar10 (`fedradio data fetch`); some minutes on a
quiet machine, more for the papers' size. Exit code 1 where a gain is below its bar.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import over_the_air
import policies
import scale
import startup
import torch
from against import cpu_s
from engine import Peak
from limit import Limit, limit, noted_calls
from rich.console import Console
from rich.table import Table
from round import workload
from whole import Ours, PlainTorch, in_turns

from fedradio import DataError, check_spec, load_spec


@dataclass(frozen=True)
class Row:
    """A row of the table: seconds of ours, of ours ``unsaved``, and of plain torch or what the name says; products of
    plain torch; the least gains over the other two."""

    what: str
    ours_s: float
    unsaved_s: float | None = None
    plain_s: float | None = None
    flops: int | None = None
    bar_unsaved: float | None = None
    bar_plain: float | None = None
    limit: Limit | None = None

    @property
    def gains(self) -> list[tuple[float | None, float | None]]:
        """Gain over ours unsaved and over plain torch, each with its bar."""
        slower = ((self.unsaved_s, self.bar_unsaved), (self.plain_s, self.bar_plain))
        return [(None if seconds is None else seconds / self.ours_s, bar) for seconds, bar in slower]

    @property
    def below(self) -> bool:
        return any(gain is not None and bar is not None and gain < bar for gain, bar in self.gains)

    def cells(self, peak: float) -> list[str]:
        """Text of the row; ``peak`` is the rate of the large product."""
        texts = [self.what, *(_ms(value) for value in (self.ours_s, self.unsaved_s, self.plain_s))]
        for gain, bar in self.gains:
            texts.append("" if gain is None else f"{gain:.2f}x" + ("" if bar is None else f" (bar {bar:g})"))
        texts.append("" if self.flops is None else f"{self.flops / self.ours_s / peak:.2f}")
        if self.limit is None:
            return [*texts, "", ""]
        return [*texts, f"{_ms(self.limit.seconds)} {self.limit.library}", f"{self.ours_s / self.limit.seconds:.2f}"]


@dataclass(frozen=True)
class Run:
    """Whole rounds of a shipped spec; bars of a round and of its evaluation against ours unsaved."""

    spec: str
    overrides: tuple[str, ...] = ()
    bar: float | None = None
    bar_evaluation: float | None = None


RUNS = {
    "OSAFL, FCN": Run("osafl/paper/fcn_k1/osafl", (), 4.0),
    "OSAFL, CNN, 20 clients": Run("osafl/paper/cnn_k1/osafl", ("topology.clients=20",), 3.0),
    "RawHFL": Run("rawhfl", (), None, 15.0),
    "RawHFL, ten guesses": Run("rawhfl", ("eval_top=10",), None, 6.0),
    "FedCPSL, MNIST": Run("fedcpsl/mnist/fedcpsl_m2", (), None, 2.5),
    "FedCPSL, CIFAR-10": Run("fedcpsl/cifar10/fedcpsl_m2", (), None, 2.5),
}

LIMITS = {
    "rawhfl/paper/z4": (),
    "rawhfl/paper/ub": (),
    "rawhfl/paper/z4, mode dc": ("hops.0.policy.mode=dc",),
    "osafl/paper/fcn_k1/osafl": (),
    "osafl/paper/cnn_k1/osafl": (),
    "osafl/paper/squeezenet_k1/osafl": (),
    "osafl/paper/lstm_k1/osafl": (),
    "whfl/cifar10/iid/i1": (),
    "fedcpsl/cifar10/fedcpsl_m2": (),
    "fedcpsl/cifar10/fedshvr": (),
}
"""Rounds of the papers' size, of which only our time and the limit are measured; the overrides of each."""

BARS = {"W1": (1.8, 2.7), "W2": (1.4, 1.9)}
"""Least gains over plain torch on one core, in CPU seconds, and on two, in wall seconds."""


def workload_rows(name: str, repeat: int, folder: Path) -> Iterator[Row]:
    """Rounds of W1 or W2 on one core and on two."""
    one_bar, two_bar = BARS[name]
    spec = check_spec(workload(name))
    one, two = Ours(spec, folder / "one"), Ours(spec, folder / "two", workers=2)
    plain = PlainTorch(one)
    one()
    flops = plain.flops()
    seconds = in_turns({"ours": one, "plain": plain}, repeat)
    found = round_limit(Ours(spec, folder / "noted"), repeat)
    yield Row(name, seconds["ours"], None, seconds["plain"], flops, bar_plain=one_bar, limit=found)
    wall = in_turns({"ours": two, "plain": plain}, repeat, time.perf_counter)
    yield Row(f"{name}, two cores, wall time | torch on one", wall["ours"], None, wall["plain"], bar_plain=two_bar)


def run_rows(name: str, repeat: int, folder: Path) -> Iterator[Row]:
    """Rounds of a shipped spec, and their evaluation alone."""
    run = RUNS[name]
    spec = load_spec(run.spec, run.overrides)
    ours, unsaved = Ours(spec, folder / "ours"), Ours(spec, folder / "unsaved", save=False)
    plain = PlainTorch(ours)
    ours()
    flops = plain.flops()
    rounds = in_turns({"ours": ours, "unsaved": unsaved, "plain": plain}, repeat)
    found = round_limit(Ours(spec, folder / "noted"), repeat)
    yield Row(name, rounds["ours"], rounds["unsaved"], rounds["plain"], flops, run.bar, limit=found)
    ours_s, unsaved_s = (statistics.median(side.evaluation_s[-repeat:]) for side in (ours, unsaved))
    yield Row(f"{name}: evaluation", ours_s, unsaved_s, bar_unsaved=run.bar_evaluation)


def limit_rows(name: str, repeat: int, folder: Path) -> Iterator[Row]:
    """Rounds of a shipped spec of the papers' size beside their limit."""
    spec = load_spec(name.partition(",")[0], LIMITS[name])
    ours = Ours(spec, folder / "ours")
    ours()
    seconds = in_turns({"ours": ours}, repeat)
    yield Row(name, seconds["ours"], limit=round_limit(Ours(spec, folder / "noted"), repeat))


def round_limit(again: Ours, repeat: int) -> Limit:
    """The limit of a round, the mean of those that are timed: ``again`` makes the same rounds as the timed one.

    Two rounds come before those that are timed.
    """

    def rounds(number: int) -> None:
        for _ in range(number):
            again()

    rounds(2)
    found = limit(noted_calls(partial(rounds, repeat)), repeat)
    return replace(found, seconds=found.seconds / repeat)


def part_rows(repeat: int, folder: Path) -> Iterator[Row]:
    """The over-the-air link, the planner, many clients, and starting the program."""
    case = over_the_air.Case()
    exact, direct = case.exchange("exact"), case.exchange("direct")
    seconds = in_turns({"exact": lambda: [exact(seed) for seed in range(20)], "direct": lambda: direct(0)}, repeat)
    yield Row("over the air, a W-HFL hop | every antenna simulated", seconds["exact"] / 20, None, seconds["direct"])
    yield Row("planner, a RawHFL slot", policies.best_ms(repeat) / 1e3)
    worlds = {n: scale.Rounds(scale.flat_world(n), folder / str(n)) for n in (100, 10_000, 100_000)}
    seconds = in_turns({str(n): partial(world.turn, 1) for n, world in worlds.items()}, repeat)
    for n in (10_000, 100_000):
        yield Row(f"{n:,} clients, 20 active | 100 clients", seconds[str(n)], None, seconds["100"])
    starts = {"fedradio --help": "--help", "fedradio run demo --rounds 1": "run demo --rounds 1"}
    for name, command in starts.items():
        yield start_row(name, startup.COMMANDS[command][0], repeat, folder)


def start_row(name: str, command: tuple[str, ...], repeat: int, folder: Path) -> Row:
    """CPU of a process beside that of ``import torch``."""
    ours_s, torch_s = [], []
    for turn in range(repeat + 1):  # the first compiles and reads files for the first time
        out = ("--out", f"turn{turn}") if "run" in command else ()
        ours_s.append(cpu_s((*command, *out), folder))
        torch_s.append(cpu_s(startup.IMPORT_TORCH, folder))
    return Row(f"{name} | import torch", statistics.median(ours_s[1:]), None, statistics.median(torch_s[1:]))


def names() -> list[str]:
    """Names of all cases."""
    return [*BARS, *RUNS, *LIMITS, "parts"]


def rows(only: str, repeat: int, folder: Path) -> Iterator[Row]:
    """All rows of cases whose name contains ``only``."""
    cases: dict[str, Callable[[Path], Iterator[Row]]] = {}
    cases |= {name: partial(workload_rows, name, repeat) for name in BARS}
    cases |= {name: partial(run_rows, name, repeat) for name in RUNS}
    cases |= {name: partial(limit_rows, name, repeat) for name in LIMITS}
    cases |= {"parts": partial(part_rows, repeat)}
    for name, case in cases.items():
        if only in name:
            place = folder / name.replace(" ", "").replace("/", "-")
            place.mkdir()
            yield from case(place)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="turns that count")
    parser.add_argument("--only", default="", help="cases whose name contains this; parts: those without learning")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if not any(options.only in name for name in names()):
        parser.error(f"no case is called {options.only!r}; there are: {'; '.join(names())}")
    try:
        below = print_table(options.only, options.repeat)
    except DataError as error:
        sys.exit(str(error))
    if below:
        sys.exit(f"below their bars: {'; '.join(below)}")


def print_table(only: str, repeat: int) -> list[str]:
    """Print each row when it is measured, and the table at the end; the rows below their bars."""
    torch.set_num_threads(1)
    console, product = Console(width=150), Peak()
    peak = Peak.flops / in_turns({"product": product}, 5 * repeat)["product"]
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    title = f"CPU ms, median over turns: {repeat}; torch {torch.__version__}; peak {peak / 1e9:.1f} GF/s; {load}"
    columns = ("what", "ours", "unsaved", "plain torch", "gain over unsaved", "gain over plain", "share of peak")
    table = Table(*columns, "limit", "of the limit", title=title)
    below: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(only, repeat, Path(folder)):
            console.print(" | ".join(text for text in row.cells(peak) if text), highlight=False)
            table.add_row(*row.cells(peak))
            below += [row.what] if row.below else []
    console.print(table)
    return below


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:,.4g}"


if __name__ == "__main__":
    main()
