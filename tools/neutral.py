"""Neutrality of a change: the same specs on two checkouts, models and records equal to the last bit.

``python tools/neutral.py BASE [CHANGED]`` runs both checkouts here and now; it exits with 0 (equal), 1 (different, or a
run failed) or 2 (wrong use). BASE and CHANGED are folders or git revisions; without CHANGED it is the checkout that
holds this file.

Nothing is stored: another BLAS, processor or version of torch rounds sums differently, so that the hash of a model
holds on the machine that made it and nowhere else. Only runs side by side can be compared without tolerance.

Every checkout is driven through its command line, in processes of its own with an empty home: of the package, whose
modules may have moved in between, only the table of defaults is used here. Two things have no command and go through
``python -c`` with public names only: all shipped specs without their defaults (``load_spec``, ``build``), and the
programs of ``neutral_programs.py`` (a network with three hops, a federation with kills, the environment for learning
agents).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from neutral_cases import CASES, SOUND, SPECS_PROGRAM, Case
from neutral_compare import RECORDS, compare, first_difference
from rich.console import Console
from rich.table import Table

from fedradio.spec.defaults import without_defaults

ROOT = Path(__file__).resolve().parents[1]
SPECS = Path("src/fedradio/specs")
VARIANTS = "_variants.yaml"


class WrongUse(Exception):
    """What was asked for cannot be done; the message says why."""


@dataclass(frozen=True)
class Side:
    """One of the two checkouts; its processes have homes of their own below ``homes``, its runs go below ``runs``."""

    checkout: Path
    homes: Path
    runs: Path

    def python(self, command: Sequence[str], home: str) -> subprocess.CompletedProcess[str]:
        """Run Python on this checkout: its package is found first, settings and data of the user are not found."""
        folder = self.homes / home
        folder.mkdir(parents=True)
        own = {"HOME": folder, "XDG_CACHE_HOME": folder / "cache", "FEDRADIO_HOME": folder / "fedradio"}
        environment = os.environ | {"PYTHONPATH": str(self.checkout / "src")} | {k: str(v) for k, v in own.items()}
        line = [sys.executable, *command]
        return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Result:
    """What came of a comparison: ``state`` is equal, different or failed."""

    name: str
    state: str
    what: str
    seconds: float
    notes: tuple[str, ...] = ()


def slug(name: str) -> str:
    """A name as that of one folder."""
    return name.replace("/", "-")


def find_checkout(name: str, stack: ExitStack) -> Path:
    """The folder of a checkout; that of a git revision is made from its archive and goes with the stack."""
    if (Path(name) / SPECS).is_dir():
        return Path(name).resolve()
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", name], capture_output=True, check=False)
    if packed.returncode:
        raise WrongUse(f"{name} is neither a checkout of fedradio nor a git revision")
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="neutral-")))
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if not (folder / SPECS).is_dir():
        raise WrongUse(f"revision {name} has no {SPECS}")
    return folder


def shipped(checkout: Path) -> list[str]:
    """Names of the specs that a checkout ships: files, and rows of files of variants."""
    root, names = checkout / SPECS, []
    for path in root.rglob("*.yaml"):
        name = path.relative_to(root).with_suffix("")
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))["variants"] if path.name == VARIANTS else None
        names += [name] if rows is None else [name.with_name(row) for row in rows]
    return sorted(map(Path.as_posix, names))


def run_side(case: Case, side: Side, workers: int) -> tuple[float, str]:
    """Make one run; its seconds, and its last words where it failed."""
    began = time.perf_counter()
    command = case.command(side.runs / slug(case.name), workers)
    done = side.python(command, slug(case.name))
    return time.perf_counter() - began, "" if done.returncode == 0 else done.stderr.strip() or "no message"


def runs(cases: Sequence[Case], sides: Sequence[Side], jobs: int, workers: int) -> Iterator[Result]:
    """Make all runs, ``jobs`` at a time, the two sides of a case beside each other; results as they come."""
    tasks = [(case, side) for case in cases for side in sides]
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda task: run_side(task[0], task[1], workers), tasks)
        for case in cases:
            yield judge(case, sides, [next(done) for _ in sides])


def judge(case: Case, sides: Sequence[Side], ran: Sequence[tuple[float, str]]) -> Result:
    """Compare the two runs of a case."""
    seconds = max(spent for spent, _ in ran)
    if any(words for _, words in ran):
        return failure(case.name, seconds, *(words for _, words in ran))
    base, changed = (side.runs / slug(case.name) for side in sides)
    differences = tuple(map(str, compare(base, changed, case.files)))
    records = len((base / RECORDS).read_text(encoding="utf-8").splitlines())
    return Result(case.name, "different" if differences else "equal", f"{records} records", seconds, differences)


def described_specs(side: Side, names: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Every spec on one side with its state, and its last words where that failed."""
    done = side.python(["-c", SPECS_PROGRAM, *names], "specs")
    if done.returncode:
        return [], done.stderr.strip() or "no message"
    where, *rows = map(json.loads, done.stdout.splitlines())
    if not Path(where).resolve().is_relative_to(side.checkout):
        raise WrongUse(f"python finds the package in {where}, not in {side.checkout}")
    return [row | {"spec": without_defaults(row["spec"])} for row in rows], ""


def specs(names: Sequence[str], sides: Sequence[Side]) -> Result:
    """Compare specs without the keys that have their defaults, and whether they can be built."""
    began = time.perf_counter()
    with ThreadPoolExecutor(len(sides)) as pool:
        (base, base_words), (changed, changed_words) = pool.map(lambda side: described_specs(side, names), sides)
    seconds = time.perf_counter() - began
    if base_words or changed_words:
        return failure("specs", seconds, base_words, changed_words)
    notes = []
    for name, left, right in zip(names, base, changed, strict=True):
        if difference := first_difference(left, right):
            notes.append("{}, {}: base {}, changed {}".format(name, *difference))
        elif left["state"] not in SOUND:
            notes.append(f"{name}: {left['state']}")
    what = f"{len(names)} specs, {sum(row['state'] == SOUND[0] for row in changed)} of them built"
    return Result("specs", "different" if notes else "equal", what, seconds, tuple(notes))


def failure(name: str, seconds: float, base: str, changed: str) -> Result:
    """The result where a side has failed, with its words."""
    notes = [f"{label} failed: {words}" for label, words in (("base", base), ("changed", changed)) if words]
    return Result(name, "failed", "", seconds, tuple(notes))


def results(sides: Sequence[Side], options: argparse.Namespace, console: Console) -> Iterator[Result]:
    """Compare all that BASE ships and the pattern chooses: specs first, then the runs."""
    in_base = shipped(sides[0].checkout)
    names = [name for name in in_base if fnmatch(name, options.only)]
    chosen = [case for case in CASES if fnmatch(case.name, options.only)]
    cases = [case for case in chosen if case.spec in in_base]
    if not names and not cases:
        raise WrongUse(f"no spec of BASE and no run is called {options.only}")
    for case in chosen:
        if case not in cases:
            console.print(f"{case.name}: not compared, BASE does not have this spec", soft_wrap=True)
    yield specs(names, sides)
    yield from runs(cases, sides, options.jobs, options.workers)


def show(results: Iterable[Result], console: Console) -> bool:
    """Print every result as it comes, with its differences, and a table of all; whether all are equal."""
    table, equal = Table("what", "result", "compared", "seconds"), True
    for result in results:
        details = ", ".join(part for part in (result.what, f"{result.seconds:.1f} s") if part)
        for line in (f"{result.name}: {result.state} ({details})", *(f"  {note}" for note in result.notes)):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
        table.add_row(result.name, result.state, result.what, f"{result.seconds:.1f}")
        equal = equal and result.state == "equal"
    console.print(table)
    return equal


def neutral(options: argparse.Namespace, console: Console) -> bool:
    """Whether everything that was chosen is equal on both checkouts; prints how it goes."""
    keep = None if options.keep is None else options.keep.resolve()
    if keep is not None and keep.exists() and not (keep.is_dir() and not any(keep.iterdir())):
        raise WrongUse(f"{options.keep} is there already and not an empty folder")
    if options.base is None:
        raise WrongUse("BASE is missing: a checkout or a git revision")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="neutral-")))
        folders = {"base": find_checkout(options.base, stack), "changed": find_checkout(options.changed, stack)}
        sides = [Side(path, scratch / "homes" / name, (keep or scratch) / name) for name, path in folders.items()]
        return show(results(sides, options, console), console)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", nargs="?", help="folder or git revision to compare with")
    parser.add_argument("changed", metavar="CHANGED", nargs="?", default=str(ROOT), help="folder or git revision")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="runs and specs of that name, such as 'osafl*'")
    parser.add_argument("--list", action="store_true", help="print the runs and stop")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="new folder that keeps the run folders")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time (2: both checkouts of a spec)")
    parser.add_argument("--workers", type=int, default=2, help="threads of every run")
    options = parser.parse_args(arguments)
    console = Console(width=120)
    if options.list:
        for case in CASES:
            if fnmatch(case.name, options.only):
                console.print(case.name, *case.changes, soft_wrap=True, markup=False, highlight=False)
        return 0
    if options.jobs < 1 or options.workers < 1:
        parser.error("--jobs and --workers are at least 1")
    try:
        return 0 if neutral(options, console) else 1
    except WrongUse as reason:
        parser.error(str(reason))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as with Ctrl-C, temporary folders are removed
    sys.exit(main())
