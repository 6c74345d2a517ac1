"""Runs the commands of docs/claims.md and compares what they print with what the page expects.

``python tools/claims.py`` runs those of at most a minute, ``--minutes 5`` more, ``--only wheel`` those whose claim
holds a word; it exits with 0 if all hold, else with 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "claims.md"
SCRATCH = Path("/tmp/claims")
"""Where the commands of the page put their runs; it is removed before and after."""

ROW = re.compile(
    r"\| (?P<claim>.+?) \| `(?P<command>.+?)` \| `(?P<file>[^`]+)` \| (?P<minutes>[\d.]+) \| `(?P<expected>.+?)` \|"
)


@dataclass(frozen=True)
class Claim:
    """A row of the page: what is claimed, the command, the file that it is about, its minutes, and a pattern that its
    output must hold."""

    claim: str
    command: str
    file: str
    minutes: float
    expected: str


def claims(text: str) -> list[Claim]:
    """The rows of the table."""
    rows = [ROW.fullmatch(line) for line in text.splitlines()]
    return [
        Claim(row["claim"], row["command"], row["file"], float(row["minutes"]), row["expected"])
        for row in rows
        if row is not None
    ]


def check(claim: Claim) -> str:
    """Run a claim's command; why it does not hold, empty if it does."""
    beside = Path(sys.executable).parent  # so that `fedradio` and `pytest` are those of this Python
    env = os.environ | {"PATH": f"{beside}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "160"}
    done = subprocess.run(claim.command, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    return "" if re.search(claim.expected, done.stdout) else f"no {claim.expected!r} in {done.stdout.strip()[-300:]!r}"


def checked(chosen: Sequence[Claim]) -> Iterator[tuple[Claim, str, float]]:
    """Every claim with why it does not hold, and its seconds."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    for claim in chosen:
        began = time.perf_counter()
        why = check(claim)
        yield claim, why, time.perf_counter() - began
    shutil.rmtree(SCRATCH, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="the longest claims to check; default 1")
    parser.add_argument("--only", default="", help="claims that hold this word")
    options = parser.parse_args()
    every = claims(PAGE.read_text(encoding="utf-8"))
    chosen = [each for each in every if each.minutes <= options.minutes and options.only in each.claim]
    wrong = 0
    for claim, why, took in checked(chosen):
        wrong += bool(why)
        print(f"{'holds' if not why else 'FAILS'}  {took:6.1f} s  {claim.claim}{f': {why}' if why else ''}", flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} hold; {len(every) - len(chosen)} were not asked for")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
