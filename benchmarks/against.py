"""CPU seconds of rounds on two checkouts that take turns: ``python benchmarks/against.py BASE [CHANGED] [--repeat 9]``.

W1, W2: FedAvg as in ``benchmarks/round.py``, on images made on the spot with the shapes of MNIST and CIFAR-10.
demo, rawhfl: the shipped specs; dc: rawhfl with Algorithm 2; fcn, cnn: OSAFL's at paper scale.
start: all that ``python -m fedradio --version`` takes.
A round is evaluated, nothing is written; one worker, one torch thread, a process of its own for every turn, one process
at a time, in the order base, changed, changed, base, ... The first round warms up and does not count. CPU seconds are
those of user and system: waiting for others on a shared machine is not among them. A ratio is that of two neighbours.

BASE and CHANGED are folders (``git worktree add ../base REVISION`` makes one); without CHANGED it is the checkout that
holds this file. Only names at the top of the package are used, which both checkouts have.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("base", "changed")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

Plain = dict[str, Any]


def workload(clients: int, each: int, shape: tuple[int, int, int], model: Plain, lr: float) -> Plain:
    """FedAvg over ideal links, one local epoch, 10,000 test images: a workload of ``benchmarks/round.py`` as a spec."""
    channels, height, width = shape
    images = {"channels": channels, "height": height, "width": width, "samples": clients * each, "test_samples": 10_000}
    return {
        "topology": {"kind": "flat", "clients": clients},
        "hops": [{"policy": {"kind": "fixed", "epochs": 1}}],
        "data": {"source": {"kind": "synthetic_images", **images}},
        "model": model,
        "rule": {"kind": "sgd", "lr": lr, "batch": 32},
    }


@dataclass(frozen=True)
class Case:
    """What is measured: ``rounds`` of a shipped spec or of plain data; no spec is the start of the program."""

    spec: str | Plain | None
    rounds: int = 0
    overrides: tuple[str, ...] = ()


CASES = {
    "W1": Case(workload(20, 600, (1, 28, 28), {"kind": "mlp", "hidden": [200]}, 0.1), 6),
    "W2": Case(workload(10, 500, (3, 32, 32), {"kind": "cnn5x5"}, 0.02), 1),
    "demo": Case("demo", 30),
    "rawhfl": Case("rawhfl", 2),
    "dc": Case("rawhfl", 1, ("hops.0.policy.mode=dc",)),
    "fcn": Case("osafl/paper/fcn_k1/osafl", 6),
    "cnn": Case("osafl/paper/cnn_k1/osafl", 2),
    "start": Case(None),
}


def rounds_s(case: Case) -> float:
    """CPU seconds of a round of a case, in this process and with the package that it finds."""
    import fedradio

    assert case.spec is not None
    if isinstance(case.spec, str):
        spec = fedradio.load_spec(case.spec, case.overrides)
    else:
        spec = fedradio.check_spec(case.spec)
    sim = fedradio.build(spec, workers=1)
    state, *_ = fedradio.run_round(sim, fedradio.begin(sim))
    began = time.process_time()
    for _ in range(case.rounds):
        state, *_ = fedradio.run_round(sim, state)
    return (time.process_time() - began) / case.rounds


def command(name: str) -> list[str]:
    """What follows ``python`` in a turn: this file again, or the start alone."""
    if CASES[name].spec is None:
        return ["-m", "fedradio", "--version"]
    return ["-P", str(Path(__file__).resolve()), "--inside", name]


def measure(name: str, checkout: Path) -> float:
    """CPU seconds of one turn of a case on a checkout, in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        if CASES[name].spec is None:
            return cpu_s(command(name), Path(home), PYTHONPATH=str(checkout / "src"))
        line, environment = [sys.executable, *command(name)], _environment(home, PYTHONPATH=str(checkout / "src"))
        done = subprocess.run(line, cwd=home, env=environment, stdout=subprocess.PIPE, check=True)
    measured = json.loads(done.stdout)
    _refuse_other(Path(measured["package"]), checkout)
    return float(measured["cpu_s"])


def cpu_s(arguments: Sequence[str], home: Path, code: int = 0, **environment: str) -> float:
    """CPU seconds of ``python ARGUMENTS`` in a home of its own, which must end with this exit code."""
    before = _children_s()
    line = [sys.executable, *arguments]
    own = _environment(str(home), **environment)
    done = subprocess.run(line, cwd=home, env=own, check=False, capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(line)} ended with exit code {done.returncode}, not {code}:\n{done.stderr}")
    return _children_s() - before


def turns(repeat: int) -> list[str]:
    """Who is measured when: base, changed, changed, base, ... so that a drift of the machine meets both alike."""
    return [side for i in range(repeat) for side in (SIDES if i % 2 == 0 else SIDES[::-1])]


@dataclass(frozen=True)
class Spread:
    """Median, least and most of some values."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(statistics.median(values), min(values), max(values))

    def text(self, scale: float = 1.0, digits: int = 3) -> str:
        median, least, most = (f"{scale * value:.{digits}f}" for value in (self.median, self.least, self.most))
        return f"{median} ({least} to {most})"


def row(name: str, seconds: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """One row of the table: milliseconds of both sides, and changed over base turn by turn."""
    base, changed = (seconds[side] for side in SIDES)
    ratio = Spread.of([b / a for a, b in zip(base, changed, strict=True)])
    return name, Spread.of(base).text(1e3, 1), Spread.of(changed).text(1e3, 1), ratio.text()


def compare(name: str, checkouts: Mapping[str, Path], repeat: int, console: Console) -> tuple[str, ...]:
    """Measure one case, turn by turn."""
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    if CASES[name].spec is None:
        for side in SIDES:
            _check_package(checkouts[side])
            measure(name, checkouts[side])  # compiles what has changed since the last start; does not count
    for side in turns(repeat):
        seconds[side].append(measure(name, checkouts[side]))
    cells = row(name, seconds)
    console.print(f"{name}: base {cells[1]} ms, changed {cells[2]} ms, ratio {cells[3]}", highlight=False)
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", nargs="?", type=Path, help="checkout to compare with")
    parser.add_argument("changed", metavar="CHANGED", nargs="?", type=Path, default=ROOT, help="the other checkout")
    parser.add_argument("--repeat", type=int, default=9, help="turns of every side")
    parser.add_argument("--only", choices=CASES, help="one case")
    parser.add_argument("--inside", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        import fedradio

        print(json.dumps({"cpu_s": rounds_s(CASES[options.inside]), "package": fedradio.__file__}))
        return
    if options.base is None or options.repeat < 1:
        parser.error("BASE is missing" if options.base is None else "--repeat is at least 1")
    checkouts = {"base": options.base.resolve(), "changed": options.changed.resolve()}
    for folder in checkouts.values():
        if not (folder / "src" / "fedradio").is_dir():
            parser.error(f"{folder} is not a checkout of fedradio")
    console = Console(width=120)
    title = f"CPU milliseconds of a round, or of the start: median of {options.repeat} (least to most)"
    table = Table("case", "base", "changed", "changed / base", title=title)
    for name in [options.only] if options.only else CASES:
        table.add_row(*compare(name, checkouts, options.repeat, console))
    console.print(table)


def _check_package(checkout: Path) -> None:
    """Refuse to measure where python finds the package somewhere else than in the checkout."""
    line = [sys.executable, "-c", "import fedradio; print(fedradio.__file__)"]
    with tempfile.TemporaryDirectory() as home:
        environment = _environment(home, PYTHONPATH=str(checkout / "src"))
        done = subprocess.run(line, cwd=home, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    _refuse_other(Path(done.stdout.strip()), checkout)


def _refuse_other(package: Path, checkout: Path) -> None:
    if not package.resolve().is_relative_to(checkout):
        raise SystemExit(f"python finds the package in {package}, not in {checkout}")


def _environment(home: str, **more: str) -> dict[str, str]:
    """One thread, nothing fetched, nothing cached."""
    return os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME", "FEDRADIO_HOME"), home) | ONE_THREAD | more


def _children_s() -> float:
    """CPU seconds, user and system, of all ended children of this process."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
