"""Wrong lines that the tests must notice: signs, factors, units, masks, weights that matter to a result.

``python tools/mutants.py`` puts every mutant of ``mutant_cases.py`` in place of the right line, one at a time, in a
copy of the tree, and runs the nearest tests there. It exits with 0 (a test fails for every mutant: all died), 1 (some
survived: a test is missing) or 2 (a row is wrong, or tests fail without any mutant). A row whose text is not found
exactly once is wrong, so that whoever changes the line takes the mutant along.

Nearest tests belong to the default selection of pytest. The checkout itself is read, never written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory

from mutant_cases import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
FRESH_HOME = ROOT / "tools" / "fresh_home.sh"
COPIED = ("src", "tests", "pyproject.toml")

PASSED, FAILED = 0, 1
"""Exit codes of pytest; any other means that the tests could not be run."""


class WrongRow(Exception):
    """A mutant cannot be judged; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """Result of a mutant: it ``died`` if a test failed."""

    mutant: Mutant
    died: bool

    def __str__(self) -> str:
        if self.died:
            return f"died      {self.mutant}"
        found = f"{self.mutant.text!r} -> {self.mutant.wrong!r}"
        return f"survived  {self.mutant}\n          {found} passes {' '.join(self.mutant.tests)}"


def wrong_rows(root: Path, mutants: Sequence[Mutant]) -> list[str]:
    """Problems of all rows: a text that is not found exactly once, a test that does not exist."""
    problems = []
    for mutant in mutants:
        path = root / mutant.file
        count = path.read_text(encoding="utf-8").count(mutant.text) if path.is_file() else 0
        if count != 1:
            problems.append(f"{mutant}: {mutant.text!r} is found {count} times in {mutant.file}")
        problems += [f"{mutant}: there is no test {test}" for test in mutant.tests if not _exists(root, test)]
    return problems


def _exists(root: Path, test: str) -> bool:
    """Whether a test file exists, and has the function that the node path names."""
    file, _, function = test.partition("::")
    path = root / file
    return path.is_file() and (not function or f"def {function}(" in path.read_text(encoding="utf-8"))


def run_tests(tree: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a tree on the sources of this tree, in an empty home."""
    command = [str(FRESH_HOME), sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def judge(tree: Path, mutant: Mutant) -> Verdict:
    """Run the nearest tests of a mutant in a copy of the ``tree``."""
    with TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(tree, copy)
        path = copy / mutant.file
        path.write_text(path.read_text(encoding="utf-8").replace(mutant.text, mutant.wrong), encoding="utf-8")
        Path(cache_from_source(path)).unlink(missing_ok=True)
        done = run_tests(copy, mutant.tests)
    if done.returncode not in (PASSED, FAILED):
        raise WrongRow(f"{mutant}: its tests cannot be run\n{done.stdout}{done.stderr}")
    return Verdict(mutant, done.returncode == FAILED)


def verdicts(root: Path, mutants: Sequence[Mutant], jobs: int) -> Iterator[Verdict]:
    """Verdicts on all mutants, in their order, ``jobs`` at a time, after the same tests without any mutant."""
    if problems := wrong_rows(root, mutants):
        raise WrongRow("\n".join(problems))
    with TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (root / name).is_dir() else shutil.copy2
            copy(root / name, tree / name)
        done = run_tests(tree, sorted({test for mutant in mutants for test in mutant.tests}))
        if done.returncode != PASSED:
            raise WrongRow(f"tests fail without any mutant\n{done.stdout}{done.stderr}")
        yield from pool.map(lambda mutant: judge(tree, mutant), mutants)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, mutants: Sequence[Mutant] = MUTANTS) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="mutants of that name, such as 'links*'")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time (2)")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in mutants if fnmatch(str(mutant), options.only)]
    if not chosen:
        parser.error(f"no mutant is called {options.only}")
    if options.jobs < 1:
        parser.error("--jobs is at least 1")
    if options.list:
        print(*chosen, sep="\n")
        return 0
    survived = 0
    try:
        for verdict in verdicts(root, chosen, options.jobs):
            print(verdict, flush=True)
            survived += not verdict.died
    except WrongRow as reason:
        print(reason, file=sys.stderr)
        return 2
    spent = os.times()
    cpu_s = spent.children_user + spent.children_system
    print(f"{len(chosen) - survived} of {len(chosen)} mutants died; {cpu_s:.0f} CPU seconds")
    return 1 if survived else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as with Ctrl-C, temporary folders are removed
    sys.exit(main())
